#include "compile/nvrtc_mapped.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/mappings.hpp"

namespace mgemm {
namespace {

namespace fs = std::filesystem;

/// Maps a file's first page, to learn what that file is called in /proc/self/maps now: on layered file systems device
/// and inode there are not those of stat.
class Probe {
 public:
  explicit Probe(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file) page_ = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  }
  ~Probe() {
    if (page_ != MAP_FAILED) ::munmap(page_, page_bytes);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  Probe(Probe&&) = delete;
  Probe& operator=(Probe&&) = delete;

  /// Device and inode; "" if the file cannot be mapped.
  std::string file_in(const std::vector<Mapping>& all) const {
    const auto own = std::ranges::find(all, reinterpret_cast<std::uintptr_t>(page_), &Mapping::start);
    return page_ == MAP_FAILED || own == all.end() ? std::string() : own->file;
  }

 private:
  static constexpr std::size_t page_bytes = 1;
  void* page_ = MAP_FAILED;
};

/// Whether the file that is mapped is no longer the one at its path.
bool replaced(const Mapping& mapping) {
  if (mapping.deleted) return true;
  const Probe probe(mapping.path);
  return probe.file_in(mappings()) != mapping.file;
}

bool has_name(const Mapping& mapping, std::string_view name) {
  const std::string file = fs::path(mapping.path).filename().string();
  return file == name || (file.starts_with(name) && file[name.size()] == '.');  // a longer version behind it
}

std::string judge_other_builtins(const Mapping& mapping, const NvrtcFiles& files) {
  if (replaced(mapping)) {
    return fmt::format("{} is mapped into this process and no longer at its path, so it cannot be compared with {}",
                       mapping.path, files.builtins);
  }
  if (same_content(mapping.path, files.builtins)) return {};
  return fmt::format("{} is mapped into this process too and differs from {}; NVRTC may use either", mapping.path,
                     files.builtins);
}

std::string judge_function(const NvrtcFiles& files, const void* function) {
  const Probe probe(files.library);
  const std::vector<Mapping> all = mappings();
  const Mapping* const holder = mapping_of(all, function);
  if (holder != nullptr && holder->file == probe.file_in(all)) return {};
  return fmt::format("the NVRTC in use is no longer the file {}", files.library);
}

std::string judge_mappings(const NvrtcFiles& files) {
  const std::string name = fs::path(files.builtins).filename().string();
  const std::string library = fs::canonical(files.library).string();
  const std::string builtins = fs::canonical(files.builtins).string();
  std::vector<std::string> seen;
  for (const Mapping& mapping : mappings()) {
    const bool ours = mapping.path == library || mapping.path == builtins;
    if (!ours && !has_name(mapping, name)) continue;
    const std::string segment_of = mapping.file + mapping.path;  // a library has several
    if (std::ranges::find(seen, segment_of) != seen.end()) continue;
    seen.push_back(segment_of);
    if (ours && replaced(mapping)) return fmt::format("{} was replaced since this process mapped it", mapping.path);
    std::string reason = ours ? std::string() : judge_other_builtins(mapping, files);
    if (!reason.empty()) return reason;
  }
  return {};
}

}  // namespace

std::string reason_not_to_keep(const NvrtcFiles& files, const void* function) {
  try {
    if (stamp_file(files.library) != files.library_stamp) {
      return fmt::format("{} was changed or replaced since it was looked at", files.library);
    }
    if (stamp_file(files.builtins) != files.builtins_stamp) {
      return fmt::format("{} was changed or replaced since it was looked at", files.builtins);
    }
    std::string reason = function != nullptr ? judge_function(files, function) : std::string();
    return reason.empty() ? judge_mappings(files) : reason;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace mgemm
