#include "cache/os.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>

namespace mgemm::os {
namespace {

template <typename T>
T or_error(T result) {
  return result == -1 ? static_cast<T>(-errno) : result;
}

int call_set_lock(int file, short type, off_t start, off_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = length;
  return or_error(::fcntl(file, F_OFD_SETLK, &range));
}

int call_touch(int file) {
  const std::array<struct timespec, 2> times{{{0, UTIME_OMIT}, {0, UTIME_NOW}}};
  return or_error(::futimens(file, times.data()));
}

constexpr Calls real{
    .realpath = [](const char* path, char* resolved) { return ::realpath(path, resolved) == nullptr ? -errno : 0; },
    .openat = [](int directory, const char* name, int flags,
                 mode_t mode) { return or_error(::openat(directory, name, flags, mode)); },
    .mkdirat = [](int directory, const char* name, mode_t mode) { return or_error(::mkdirat(directory, name, mode)); },
    .fstat = [](int file, struct stat* status) { return or_error(::fstat(file, status)); },
    .fstatat = [](int directory, const char* name,
                  struct stat* status) { return or_error(::fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW)); },
    .fchmod = [](int file, mode_t mode) { return or_error(::fchmod(file, mode)); },
    .fchmodat = [](int directory, const char* name,
                   mode_t mode) { return or_error(::fchmodat(directory, name, mode, 0)); },
    .getxattr = [](const char* path, const char* name) { return or_error(::getxattr(path, name, nullptr, 0)); },
    .getrlimit = [](int resource,
                    struct rlimit* limit) { return or_error(::getrlimit(__rlimit_resource_t(resource), limit)); },
    .read = [](int file, void* bytes, size_t count) { return or_error(::read(file, bytes, count)); },
    .write = [](int file, const void* bytes, size_t count) { return or_error(::write(file, bytes, count)); },
    .fsync = [](int file) { return or_error(::fsync(file)); },
    .renameat = [](int directory, const char* from,
                   const char* to) { return or_error(::renameat(directory, from, directory, to)); },
    .unlinkat = [](int directory, const char* name, int flags) { return or_error(::unlinkat(directory, name, flags)); },
    .set_lock = call_set_lock,
    .touch = call_touch,
    .getdents = [](int directory, void* buffer,
                   size_t bytes) { return or_error(::getdents64(directory, buffer, bytes)); },
};

std::atomic<const Calls*> current{&real};

const Calls& calls() { return *current.load(std::memory_order_acquire); }

/// Repeats a call that a signal interrupted.
template <typename Call>
auto repeated(Call call) {
  auto result = call();
  while (result == -EINTR) result = call();
  return result;
}

template <typename Call>
int error_of(Call call) {
  const int result = repeated(call);
  return result < 0 ? -result : 0;
}

}  // namespace

const Calls& real_calls() noexcept { return real; }

void set_calls(const Calls* calls) noexcept {
  current.store(calls == nullptr ? &real : calls, std::memory_order_release);
}

int real_path(const std::string& path, std::string& resolved) {
  std::array<char, PATH_MAX> buffer{};
  const int error = error_of([&] { return calls().realpath(path.c_str(), buffer.data()); });
  if (error == 0) resolved = buffer.data();
  return error;
}

Opened open_at(int directory, const std::string& name, int flags, mode_t mode) {
  const int result = repeated([&] { return calls().openat(directory, name.c_str(), flags | O_CLOEXEC, mode); });
  if (result < 0) return {Descriptor(), -result};
  return {Descriptor(result), 0};
}

int make_directory_at(int directory, const std::string& name, mode_t mode) {
  return error_of([&] { return calls().mkdirat(directory, name.c_str(), mode); });
}

int status_of(int file, struct stat& status) {
  return error_of([&] { return calls().fstat(file, &status); });
}

int status_at(int directory, const std::string& name, struct stat& status) {
  return error_of([&] { return calls().fstatat(directory, name.c_str(), &status); });
}

int change_mode(int file, mode_t mode) {
  return error_of([&] { return calls().fchmod(file, mode); });
}

int change_mode_at(int directory, const std::string& name, mode_t mode) {
  return error_of([&] { return calls().fchmodat(directory, name.c_str(), mode); });
}

int find_access_list(int file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);  // because of O_PATH
  const ssize_t result = repeated([&] { return calls().getxattr(path.c_str(), "system.posix_acl_access"); });
  return result < 0 ? static_cast<int>(-result) : 0;
}

std::uint64_t most_file_bytes() {
  struct rlimit limit {};
  const int error = error_of([&] { return calls().getrlimit(RLIMIT_FSIZE, &limit); });
  if (error != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

int read_all(int file, size_t most, std::string& bytes) {
  constexpr size_t at_once = size_t{1} << 16U;
  bytes.clear();
  struct stat status {};
  if (status_of(file, status) == 0) bytes.reserve(std::min(most, static_cast<size_t>(status.st_size)) + 1);
  while (bytes.size() < most) {
    const size_t before = bytes.size();
    // One byte more than the file has, so that its end is seen without growing the buffer.
    const size_t room = std::max(bytes.capacity() - before, at_once);
    bytes.resize(before + std::min(room, most - before));
    const ssize_t got = repeated([&] { return calls().read(file, bytes.data() + before, bytes.size() - before); });
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return static_cast<int>(-got);
    if (got == 0) break;
  }
  return 0;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = repeated([&] { return calls().write(file, bytes.data(), bytes.size()); });
    if (written < 0) return static_cast<int>(-written);
    if (written == 0) return EIO;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int sync(int file) {
  return error_of([&] { return calls().fsync(file); });
}

int rename_at(int directory, const std::string& from, const std::string& to) {
  return error_of([&] { return calls().renameat(directory, from.c_str(), to.c_str()); });
}

int unlink_at(int directory, const std::string& name, int flags) {
  return error_of([&] { return calls().unlinkat(directory, name.c_str(), flags); });
}

int try_lock(int file, off_t start, off_t length) {
  const int error = error_of([&] { return calls().set_lock(file, F_WRLCK, start, length); });
  return error == EACCES ? EAGAIN : error;  // POSIX allows either for "held by another"
}

int unlock(int file, off_t start, off_t length) {
  return error_of([&] { return calls().set_lock(file, F_UNLCK, start, length); });
}

int touch(int file) {
  return error_of([&] { return calls().touch(file); });
}

int names_in(int directory, std::vector<std::string>& names) {
  names.clear();
  // An open file of its own: the position in a directory is shared with every copy of a descriptor.
  const Opened listing = open_at(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!listing.file) return listing.error;
  std::array<char, size_t{1} << 15U> buffer{};
  for (;;) {
    const ssize_t got = repeated([&] { return calls().getdents(listing.file.get(), buffer.data(), buffer.size()); });
    if (got < 0) return static_cast<int>(-got);
    if (got == 0) return 0;
    for (size_t at = 0; at < static_cast<size_t>(got);) {
      unsigned short length = 0;
      std::memcpy(&length, &buffer.at(at + offsetof(struct dirent64, d_reclen)), sizeof length);
      const std::string_view name = &buffer.at(at + offsetof(struct dirent64, d_name));
      if (name != "." && name != "..") names.emplace_back(name);
      at += length;
    }
  }
}

std::string message(int error) { return std::generic_category().message(error); }

}  // namespace mgemm::os
