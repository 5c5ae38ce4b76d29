#include "cache/trust.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <sstream>

#include <fmt/core.h>

namespace mgemm {
namespace {

std::string text_of_file(const std::string& path) {
  std::string text;
  const os::Opened file = os::open_at(AT_FDCWD, path, O_RDONLY);
  constexpr size_t enough = 4096;
  if (!file.file || os::read_all(file.file.get(), enough, text) != 0) text.clear();
  return text;
}

/// The user that stands for everyone who has no number here, if we are in a user namespace.
std::optional<uid_t> overflow_user() {
  std::istringstream map(text_of_file("/proc/self/uid_map"));
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t length = 0;
  constexpr std::uint64_t all_users = 0xffffffffU;
  // An unmapped namespace has an empty map, which only the failure to read it resembles.
  if (!(map >> inside >> outside >> length) || (inside == 0 && outside == 0 && length == all_users)) return {};
  const std::string text = text_of_file("/proc/sys/kernel/overflowuid");
  uid_t user = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error != std::errc()) return {};
  return user;
}

/// With a list, the group's rights in the mode are the most that anybody named in it has.
Distrust distrust_of_list(int file, const std::string& path) {
  switch (const int error = os::find_access_list(file)) {
    case 0:
      return {"can be written by whom its access control list names",
              fmt::format("run setfacl -b '{0}' or chmod g-w '{0}'", path)};
    case ENODATA:
    case ENOTSUP:  // the file system has none
    case ENOSYS:
      return {};
    default:
      return {"has an access control list that cannot be read: " + os::message(error),
              fmt::format("run chmod g-w '{}'", path), error};
  }
}

}  // namespace

Distrust distrust_of(int file, const struct stat& status, const std::string& path, std::optional<uid_t> also_trusted) {
  const mode_t mode = status.st_mode & os::permission_bits;
  const uid_t us = geteuid();
  const bool is_ours = status.st_uid == us;
  if (!is_ours && status.st_uid != 0 && status.st_uid != also_trusted && status.st_uid != overflow_user()) {
    return {fmt::format("belongs to user {}, not to root or user {}", status.st_uid, us), ""};
  }
  // Only the owners of what is in a sticky folder can take that away.
  if (S_ISDIR(status.st_mode) && (mode & S_ISVTX) != 0) return {};
  if ((mode & S_IWOTH) != 0) {
    return {fmt::format("can be written by everyone (mode {:04o})", mode), fmt::format("run chmod o-w '{}'", path)};
  }
  if ((mode & S_IWGRP) == 0) return {};
  if (!is_ours || status.st_gid != getegid()) {
    return {fmt::format("can be written by group {} (mode {:04o})", status.st_gid, mode),
            fmt::format("run chmod g-w '{}'", path)};
  }
  return distrust_of_list(file, path);
}

}  // namespace mgemm
