#include "compile/nvrtc_identity.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/error.hpp"
#include "compile/frame.hpp"

namespace mgemm {
namespace {

constexpr FrameKind memo_kind{"mgemmnvm", 1};
constexpr std::size_t most_memo_bytes = 4096;
constexpr std::int64_t settled_ns = 2'000'000'000;

std::atomic<std::uint64_t> hashes{0};

void write_stamp(BodyWriter& writer, const FileStamp& stamp) {
  writer.text(stamp.build_id).number(stamp.size).number(static_cast<std::uint64_t>(stamp.mtime_ns));
  writer.number(static_cast<std::uint64_t>(stamp.ctime_ns)).number(stamp.inode);
}

FileStamp read_stamp(BodyReader& reader) {
  FileStamp stamp;
  stamp.build_id = reader.text();
  stamp.size = reader.number();
  stamp.mtime_ns = static_cast<std::int64_t>(reader.number());
  stamp.ctime_ns = static_cast<std::int64_t>(reader.number());
  stamp.inode = reader.number();
  return stamp;
}

std::string stamp_text(const FileStamp& stamp) {
  return fmt::format("build-id {} size {} mtime {} ctime {} inode {}", stamp.build_id, stamp.size, stamp.mtime_ns,
                     stamp.ctime_ns, stamp.inode);
}

Digest counted_sha256(const std::string& path, const FileStamp& expected) {
  hashes.fetch_add(1, std::memory_order_relaxed);
  const Digest digest = file_sha256(path);
  if (stamp_file(path) != expected) fail(MGEMM_IO, "{} was changed or replaced while it was in use", path);
  return digest;
}

}  // namespace

NvrtcFiles nvrtc_files(const std::string& library, const std::string& builtins) {
  return {library, builtins, stamp_file(library), stamp_file(builtins)};
}

std::string stamp_key(const NvrtcFiles& files) {
  return fmt::format("libnvrtc {}; builtins {}", stamp_text(files.library_stamp), stamp_text(files.builtins_stamp));
}

NvrtcContent hash_nvrtc(const NvrtcFiles& files, const NvrtcVersion& version) {
  return {version, counted_sha256(files.library, files.library_stamp),
          counted_sha256(files.builtins, files.builtins_stamp)};
}

std::uint64_t nvrtc_hashes() noexcept { return hashes.load(std::memory_order_relaxed); }

std::string encode_memo(const NvrtcFiles& files, const NvrtcContent& content) {
  BodyWriter writer;
  write_stamp(writer, files.library_stamp);
  write_stamp(writer, files.builtins_stamp);
  writer.number(static_cast<std::uint64_t>(content.version.major));
  writer.number(static_cast<std::uint64_t>(content.version.minor));
  writer.digest(content.library).digest(content.builtins);
  return seal_frame(memo_kind, writer.body());
}

std::optional<NvrtcContent> decode_memo(std::string_view bytes, const NvrtcFiles& files) {
  const OpenedFrame frame = open_frame(memo_kind, bytes, most_memo_bytes);
  if (!frame.problem.empty()) return std::nullopt;
  BodyReader reader(frame.body);
  const FileStamp library = read_stamp(reader);
  const FileStamp builtins = read_stamp(reader);
  NvrtcContent content;
  content.version.major = static_cast<int>(reader.number());
  content.version.minor = static_cast<int>(reader.number());
  content.library = reader.digest();
  content.builtins = reader.digest();
  if (!reader.finished() || library != files.library_stamp || builtins != files.builtins_stamp) return std::nullopt;
  return content;
}

bool memo_may_be_kept(const NvrtcFiles& files, std::int64_t now_ns) {
  // The time of the last modification can be set to anything, even to the future; that of the last change cannot.
  const std::int64_t youngest = std::max(files.library_stamp.ctime_ns, files.builtins_stamp.ctime_ns);
  return youngest <= now_ns - settled_ns;
}

Identity compiler_identity(const NvrtcVersion& version, const std::optional<NvrtcContent>& content,
                           std::string_view target, std::span<const std::string> options, OutputKind output,
                           const NvrtcVariables& variables) {
  const auto if_known = [&](Digest NvrtcContent::*digest) {
    return content ? std::optional(to_hex((*content).*digest)) : std::nullopt;
  };
  Identity identity("mamba-gemm compiler", 3);
  identity.add("nvrtc", to_string(version));
  identity.add("libnvrtc", if_known(&NvrtcContent::library)).add("builtins", if_known(&NvrtcContent::builtins));
  identity.add("target", std::string(target));
  for (const std::string& option : options) identity.add("option", option);
  identity.add("output", output == OutputKind::ptx ? "ptx" : "machine code");
  return identity.add("append flags", variables.append_flags).add("nvvm version", variables.nvvm_version);
}

NvrtcVariables nvrtc_variables() {
  // Not secure_getenv: NVRTC itself reads them, whoever set them.
  const auto value = [](const char* name) {
    const char* const text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  return {value(append_flags_variable), value(nvvm_version_variable)};
}

}  // namespace mgemm
