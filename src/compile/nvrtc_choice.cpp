#include "compile/nvrtc_choice.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/per_process.hpp"
#include "cache/flight.hpp"
#include "compile/nvrtc_table.hpp"

namespace mgemm {
namespace {

/// By stamps, so that a file that is replaced is another one.
struct KnownContents {
  std::mutex mutex;
  std::map<std::string, NvrtcContent, std::less<>> by_stamp;
};
constinit PerProcess<KnownContents> known_contents;

std::optional<NvrtcContent> known(const std::string& stamp) {
  KnownContents& contents = known_contents.get();
  const std::lock_guard lock(contents.mutex);
  const auto found = contents.by_stamp.find(stamp);
  return found == contents.by_stamp.end() ? std::nullopt : std::optional(found->second);
}

void remember(const std::string& stamp, const NvrtcContent& content) {
  KnownContents& contents = known_contents.get();
  const std::lock_guard lock(contents.mutex);
  contents.by_stamp.insert_or_assign(stamp, content);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Digest memo_key(const std::string& stamp) { return Identity("mamba-gemm nvrtc memo", 1).add("stamps", stamp).digest(); }

/// A memo that is sound as an entry and yet says something else can only be one of another format: hash again.
NvrtcContent read_or_hash(Store& store, const NvrtcFiles& files, const NvrtcVersion& version,
                          const std::string& stamp) {
  const auto make = [&] {
    const NvrtcContent content = hash_nvrtc(files, version);
    Entry entry;
    entry.fields = {{"nvrtc", to_string(version)},
                    {"libnvrtc", to_hex(content.library)},
                    {"builtins", to_hex(content.builtins)},
                    {"stamps", stamp}};
    entry.payload = encode_memo(files, content);
    return Made(std::move(entry), memo_may_be_kept(files, now_ns()) ? "" : "NVRTC's files are too new");
  };
  const Entry memo = make_once(store, memo_key(stamp), Kind::memo, make);
  const std::optional<NvrtcContent> content = decode_memo(memo.payload, files);
  return content && content->version == version ? *content : hash_nvrtc(files, version);
}

struct Found {
  NvrtcFiles files;
  NvrtcVersion version;
};

Found find(int driver_version) {
  if (const NvrtcTable* const table = loaded_nvrtc()) return {table->files, table->version};
  if (const auto candidate = nvrtc_by_name(process_environment(), driver_version)) {
    return {nvrtc_files(candidate->path, candidate->builtins), candidate->version};
  }
  const NvrtcTable& table = nvrtc(driver_version);
  return {table.files, table.version};
}

NvrtcContent content_of(Store& store, const Found& found) {
  const std::string stamp = stamp_key(found.files);
  if (const auto content = known(stamp)) return *content;
  const NvrtcContent content = read_or_hash(store, found.files, found.version, stamp);
  if (memo_may_be_kept(found.files, now_ns())) remember(stamp, content);
  return content;
}

}  // namespace

NvrtcCandidate candidate_of(const ChosenNvrtc& chosen) {
  NvrtcCandidate candidate;
  candidate.path = chosen.files.library;
  candidate.builtins = chosen.files.builtins;
  candidate.version = chosen.version;
  return candidate;
}

ChosenNvrtc choose_nvrtc(Store& store, int driver_version) {
  try {
    const Found found = find(driver_version);
    return {found.files, found.version, content_of(store, found), {}};
  } catch (const Error& error) {
    if (error.status() != MGEMM_IO) throw;
    // Replaced or removed while in use, or between two looks at it. What is loaded can still compile.
    const NvrtcTable& table = nvrtc(driver_version);
    return {table.files, table.version, std::nullopt, error.what()};
  }
}

}  // namespace mgemm
