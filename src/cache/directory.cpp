#include "cache/directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace mgemm {
namespace {

constexpr mode_t permission_bits = 07777;

DirectoryResult refuse(std::string component, std::string rule, std::string remedy, bool is_absent = false) {
  return {std::nullopt, {std::move(component), std::move(rule), std::move(remedy), is_absent}};
}

constexpr std::string_view elsewhere = "name another folder with MAMBA_GEMM_CACHE";

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

/// What is wrong with a directory above the cache; an empty rule if nothing.
Refusal refusal_of_ancestor(const std::string& path, const struct stat& status) {
  const auto refusal = [&path](std::string rule, std::string remedy) {
    return Refusal{path, std::move(rule), std::move(remedy)};
  };
  const uid_t us = geteuid();
  const bool is_ours = status.st_uid == us;
  if (!is_ours && status.st_uid != 0 && status.st_uid != overflow_user()) {
    return refusal(
        fmt::format("belongs to user {}; above the cache only root and user {} may own a folder", status.st_uid, us),
        std::string(elsewhere));
  }
  if ((status.st_mode & S_ISVTX) != 0) return {};  // only the owners of what is in it can take that away
  if ((status.st_mode & S_IWOTH) != 0) {
    return refusal(fmt::format("can be written by everyone (mode {:04o})", status.st_mode & permission_bits),
                   fmt::format("run chmod o-w '{}', or {}", path, elsewhere));
  }
  if ((status.st_mode & S_IWGRP) != 0 && !(is_ours && status.st_gid == getegid())) {
    return refusal(
        fmt::format("can be written by group {} (mode {:04o})", status.st_gid, status.st_mode & permission_bits),
        fmt::format("run chmod g-w '{}', or {}", path, elsewhere));
  }
  return {};
}

/// The same of the cache's own directory.
Refusal refusal_of_leaf(const std::string& path, const struct stat& status) {
  const auto refusal = [&path](std::string rule, std::string remedy) {
    return Refusal{path, std::move(rule), std::move(remedy)};
  };
  if (S_ISLNK(status.st_mode)) {
    return refusal("is a symbolic link", "name the folder it leads to with MAMBA_GEMM_CACHE, or remove the link");
  }
  if (!S_ISDIR(status.st_mode)) return refusal("is not a folder", fmt::format("remove it, or {}", elsewhere));
  if (status.st_uid != geteuid()) {
    return refusal(fmt::format("belongs to user {}, not to user {}", status.st_uid, geteuid()), std::string(elsewhere));
  }
  if ((status.st_mode & permission_bits & ~static_cast<mode_t>(S_ISGID)) != S_IRWXU) {
    return refusal(fmt::format("has mode {:04o}, not 0700", status.st_mode & permission_bits),
                   fmt::format("run chmod 700 '{}' if nobody else has written to it, or {}", path, elsewhere));
  }
  return {};
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder == "/" ? "/" + name : folder + "/" + name;
}

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") components.emplace_back(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return components;
}

struct Step {
  std::string name;
  bool may_make = false;
};

/// The real path of a directory as far as it exists, and what is missing after that.
struct Resolved {
  std::vector<Step> steps;
  Refusal refusal;
};

Resolved resolve(const std::vector<std::string>& parent) {
  // From the longest prefix that exists.
  for (size_t existing = parent.size();; --existing) {
    std::string prefix = "/";
    for (size_t i = 0; i < existing; ++i) prefix = joined(prefix, parent[i]);
    std::string real;
    const int error = os::real_path(prefix, real);
    if (error == ENOENT && existing > 0) continue;
    if (error != 0) return {{}, {prefix, "cannot be reached: " + os::message(error), std::string(elsewhere)}};
    Resolved resolved;
    for (std::string& name : components_of(real)) resolved.steps.push_back({std::move(name), false});
    for (size_t i = existing; i < parent.size(); ++i) {
      if (parent[i] == "..") return {{}, {prefix, "has no folder '" + parent[existing] + "'", std::string(elsewhere)}};
      resolved.steps.push_back({parent[i], true});
    }
    return resolved;
  }
}

/// The last component, made if it may be. `parent` is an O_PATH descriptor.
DirectoryResult open_leaf(int parent, const std::string& name, const std::string& path, Creation creation) {
  bool is_new = false;
  if (creation == Creation::allowed) {
    const int error = os::make_directory_at(parent, name, S_IRWXU);
    if (error != 0 && error != EEXIST) {
      // An existing one may be on a file system that cannot be written; then it is opened below.
      struct stat status {};
      if (os::status_at(parent, name, status) != 0) {
        return refuse(path, "cannot be made: " + os::message(error), std::string(elsewhere));
      }
    }
    is_new = error == 0;
  }
  os::Opened leaf = os::open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat status {};
  if (!leaf.file) {
    if (leaf.error == ENOENT) return refuse(path, "is not there", "", true);
    Refusal refusal;
    if (os::status_at(parent, name, status) == 0) refusal = refusal_of_leaf(path, status);
    if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
    return refuse(path, "cannot be opened: " + os::message(leaf.error), std::string(elsewhere));
  }
  // The umask may have taken bits away, and a setgid parent given one.
  if (is_new) {
    const int error = os::change_mode(leaf.file.get(), S_IRWXU);
    if (error != 0) return refuse(path, "cannot be made 0700: " + os::message(error), std::string(elsewhere));
  }
  const int error = os::status_of(leaf.file.get(), status);
  if (error != 0) return refuse(path, "cannot be checked: " + os::message(error), std::string(elsewhere));
  Refusal refusal = refusal_of_leaf(path, status);
  if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
  return {PrivateDirectory(std::move(leaf.file), path), {}};
}

}  // namespace

std::string to_string(const Refusal& refusal) {
  return refusal.component + " " + refusal.rule + (refusal.remedy.empty() ? "" : "; " + refusal.remedy);
}

DirectoryResult open_private_directory(const std::string& path, Creation creation) {
  std::vector<std::string> parent = components_of(path);
  if (path.empty() || path.front() != '/' || parent.empty() || parent.back() == "..") {
    return refuse("'" + path + "'", "is not the absolute path of a folder of its own", std::string(elsewhere));
  }
  const std::string leaf = std::move(parent.back());
  parent.pop_back();
  Resolved resolved = resolve(parent);
  if (!resolved.refusal.rule.empty()) return {std::nullopt, std::move(resolved.refusal)};

  constexpr int passing = O_PATH | O_DIRECTORY | O_NOFOLLOW;
  std::string here = "/";
  os::Opened folder = os::open_at(AT_FDCWD, here, passing);
  auto step = resolved.steps.begin();
  for (;;) {
    struct stat status {};
    int error = folder.error;
    if (error == 0) error = os::status_of(folder.file.get(), status);
    if (error == ELOOP || error == ENOTDIR) {
      return refuse(here, "is a link or a file where a folder should be", std::string(elsewhere));
    }
    if (error != 0) return refuse(here, "cannot be entered: " + os::message(error), std::string(elsewhere));
    Refusal refusal = refusal_of_ancestor(here, status);
    if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
    if (step == resolved.steps.end()) break;

    here = joined(here, step->name);
    if (step->may_make) {
      if (creation == Creation::never) return refuse(here, "is not there", "", true);
      error = os::make_directory_at(folder.file.get(), step->name, S_IRWXU);
      if (error != 0 && error != EEXIST) {
        return refuse(here, "cannot be made: " + os::message(error), std::string(elsewhere));
      }
    }
    folder = os::open_at(folder.file.get(), step->name, passing);
    ++step;
  }
  return open_leaf(folder.file.get(), leaf, joined(here, leaf), creation);
}

bool is_still_private(const PrivateDirectory& directory) noexcept {
  struct stat status {};
  if (os::status_of(directory.descriptor(), status) != 0) return false;
  return status.st_nlink > 0 && status.st_uid == geteuid() &&
         (status.st_mode & permission_bits & ~static_cast<mode_t>(S_ISGID)) == S_IRWXU;
}

}  // namespace mgemm
