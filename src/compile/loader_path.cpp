#include "compile/loader_path.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace mgemm {
namespace {

namespace fs = std::filesystem;

/// Of a library that somebody has loaded.
std::string path_if_loaded(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  link_map* map = nullptr;
  std::string path;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr) path = map->l_name;
  dlclose(handle);  // our reference only
  return path;
}

struct Folders {
  std::vector<fs::path> named;     // by LD_LIBRARY_PATH and in the program itself
  std::vector<fs::path> defaults;  // the system's
};

Folders folders_of_loader() {
  Folders folders;
  void* const program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return folders;
  Dl_serinfo size{};
  if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && size.dls_size >= sizeof size) {
    std::vector<std::max_align_t> storage(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const info = new (storage.data()) Dl_serinfo(size);
    if (dlinfo(program, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i) {
        const Dl_serpath& entry = (&info->dls_serpath[0])[i];
        (entry.dls_flags == LA_SER_DEFAULT ? folders.defaults : folders.named).emplace_back(entry.dls_name);
      }
    }
  }
  dlclose(program);
  return folders;
}

std::string path_in(const std::vector<fs::path>& folders, const std::string& name) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  }
  return {};
}

// glibc's sysdeps/generic/dl-cache.h, which is no public header. Offsets of strings count from the header.
struct CacheHeader {
  char magic[20];
  std::uint32_t entries;
  std::uint32_t other[6];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;
  std::uint32_t path;
  std::uint32_t other;
  std::uint64_t hwcap;  // 0: for every processor
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

constexpr std::string_view cache_magic = "glibc-ld.so.cache1.1";

std::string_view string_at(std::string_view cache, std::size_t offset) {
  if (offset >= cache.size()) return {};
  const std::size_t end = cache.find('\0', offset);
  return end == std::string_view::npos ? std::string_view() : cache.substr(offset, end - offset);
}

}  // namespace

std::string path_in_loader_cache(const std::string& bytes, const std::string& name) {
  const std::size_t start = bytes.find(cache_magic);  // an older format may come before it
  if (start == std::string::npos || bytes.size() - start < sizeof(CacheHeader)) return {};
  const std::string_view cache = std::string_view(bytes).substr(start);
  CacheHeader header{};
  std::memcpy(&header, cache.data(), sizeof header);
  if (header.entries > (cache.size() - sizeof header) / sizeof(CacheEntry)) return {};
  for (std::size_t i = 0; i < header.entries; ++i) {
    CacheEntry entry{};
    std::memcpy(&entry, cache.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.hwcap == 0 && string_at(cache, entry.name) == name) return std::string(string_at(cache, entry.path));
  }
  return {};
}

std::string path_by_loader(const std::string& name) {
  if (std::string path = path_if_loaded(name); !path.empty()) return path;
  const Folders folders = folders_of_loader();
  if (std::string path = path_in(folders.named, name); !path.empty()) return path;
  std::ifstream cache("/etc/ld.so.cache", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(cache), std::istreambuf_iterator<char>()};
  if (std::string path = path_in_loader_cache(bytes, name); !path.empty()) return path;
  return path_in(folders.defaults, name);
}

}  // namespace mgemm
