// Executable shell scripts that live as long as the test's folder.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

namespace mgemm::test {

inline std::string write_script(const std::filesystem::path& path, const std::string& commands) {
  std::ofstream(path) << "#!/bin/sh\n" << commands << '\n';
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path.string();
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace mgemm::test
