// Every call of the operating system that the cache makes.
#pragma once
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"

namespace mgemm::os {

/// Of a mode: the rights, and the set-ID and sticky bits.
constexpr mode_t permission_bits = 07777;

/// What really calls. Each gives what its call gives, and the negated errno where that is -1.
struct Calls {
  int (*realpath)(const char* path, char* resolved);  // PATH_MAX bytes
  int (*openat)(int directory, const char* name, int flags, mode_t mode);
  int (*mkdirat)(int directory, const char* name, mode_t mode);
  int (*fstat)(int file, struct stat* status);
  int (*fstatat)(int directory, const char* name, struct stat* status);  // of a link itself
  int (*fchmod)(int file, mode_t mode);
  int (*fchmodat)(int directory, const char* name, mode_t mode);
  ssize_t (*getxattr)(const char* path, const char* name);  // how many bytes it has
  int (*getrlimit)(int resource, struct rlimit* limit);
  ssize_t (*read)(int file, void* bytes, size_t count);
  ssize_t (*write)(int file, const void* bytes, size_t count);
  int (*fsync)(int file);
  int (*renameat)(int directory, const char* from, const char* to);
  int (*unlinkat)(int directory, const char* name, int flags);
  int (*set_lock)(int file, short type, off_t start, off_t length);  // open-file-description lock, never waits
  int (*touch)(int file);                                            // modification time := now
  ssize_t (*getdents)(int directory, void* buffer, size_t bytes);
};

const Calls& real_calls() noexcept;

/// Lets tests make calls fail. nullptr: the real ones again.
void set_calls(const Calls* calls) noexcept;

/// A descriptor, or why there is none.
struct Opened {
  Descriptor file;
  int error = 0;  // an errno, 0 if opened
};

// All of these retry after signals. Those that give an int give 0 or an errno.

int real_path(const std::string& path, std::string& resolved);
/// O_CLOEXEC is always added.
Opened open_at(int directory, const std::string& name, int flags, mode_t mode = 0);
int make_directory_at(int directory, const std::string& name, mode_t mode);
int status_of(int file, struct stat& status);
/// Of the link itself, where the name is one.
int status_at(int directory, const std::string& name, struct stat& status);
int change_mode(int file, mode_t mode);
/// Follows a link in place of `name`.
int change_mode_at(int directory, const std::string& name, mode_t mode);
/// Whether an access control list says more than the mode: 0 if there is one, else ENODATA, ENOTSUP or what failed.
/// `file` may be an O_PATH descriptor.
int find_access_list(int file);
/// How large a file may become. A longer write is no error that can be dealt with: its signal ends the process.
std::uint64_t most_file_bytes();
/// Reads to the end of the file, but never more than `most` bytes.
int read_all(int file, size_t most, std::string& bytes);
int write_all(int file, std::string_view bytes);
int sync(int file);
int rename_at(int directory, const std::string& from, const std::string& to);
/// `flags`: 0, or AT_REMOVEDIR for an empty directory.
int unlink_at(int directory, const std::string& name, int flags = 0);
/// Takes an exclusive lock on bytes of a file, belonging to the open file. EAGAIN if another open file has it.
int try_lock(int file, off_t start, off_t length);
int unlock(int file, off_t start, off_t length);
int touch(int file);
/// All names in a directory but "." and "..".
int names_in(int directory, std::vector<std::string>& names);

std::string message(int error);

}  // namespace mgemm::os
