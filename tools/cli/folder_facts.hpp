// What lies under a folder: its file system and how much room there is.
#pragma once
#include <cstdint>
#include <string>

namespace mgemm::cli {

/// What a kind of file system means for a cache.
enum class Keeping { plain, network, until_reboot, with_container };

struct FileSystem {
  std::string name;  // "ext4"; in hexadecimal if it is not known
  Keeping keeping = Keeping::plain;
};

/// By the number that statfs gives.
FileSystem file_system_of(std::int64_t magic);

struct FolderFacts {
  std::string existing;  // the folder itself, or the nearest one above it that is there
  std::string problem;   // why nothing more could be found out, or ""
  FileSystem file_system;
  bool is_read_only = false;     // the file system
  bool may_write = false;        // we, into `existing`
  std::uint64_t free_bytes = 0;  // to us
};

/// Looks without changing anything. `path` is absolute.
FolderFacts look_at_folder(const std::string& path);

}  // namespace mgemm::cli
