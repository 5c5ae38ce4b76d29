#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.hpp"

namespace mgemm {

/// What tells without reading a file that it is still the one it was: a replaced one has another inode and change time.
struct FileStamp {
  std::string build_id;  // the linker's, in hexadecimal; "" if the file has none
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Reads a few hundred bytes. Error with MGEMM_IO.
FileStamp stamp_file(const std::string& path);

/// Of its bytes, read in pieces. Error with MGEMM_IO.
Digest file_sha256(const std::string& path);

/// Whether two files have the same bytes. Error with MGEMM_IO.
bool same_content(const std::string& one, const std::string& other);

}  // namespace mgemm
