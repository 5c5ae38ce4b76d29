// A file system of a few kilobytes.
#pragma once
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace mgemm::test {

/// Makes a folder and mounts one there, for this process alone, which must have no other threads; false where that is
/// not allowed. `size` as tmpfs takes it.
inline bool mount_small_disk(const std::filesystem::path& folder, const std::string& size) {
  return mkdir(folder.c_str(), 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, ("size=" + size + ",mode=0700").c_str()) == 0;
}

}  // namespace mgemm::test
