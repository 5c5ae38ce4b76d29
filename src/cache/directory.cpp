#include "cache/directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "cache/trust.hpp"

namespace mgemm {
namespace {

constexpr mode_t accessible = 0777;

constexpr std::string_view elsewhere = "name another folder with MAMBA_GEMM_CACHE";

DirectoryResult refuse(std::string component, std::string rule, std::string remedy) {
  return {std::nullopt, {std::move(component), std::move(rule), std::move(remedy)}};
}

DirectoryResult absent(std::string component) {
  return {std::nullopt, {std::move(component), "is not there", "", true}};
}

/// `what` could not be done, for example "be opened".
Refusal failure(std::string component, std::string_view what, int error) {
  return {std::move(component), fmt::format("cannot {}: {}", what, os::message(error)), std::string(elsewhere), false,
          error};
}

/// What is wrong with a directory above the cache; an empty rule if nothing.
Refusal refusal_of_ancestor(int folder, const std::string& path, const struct stat& status) {
  Distrust distrust = distrust_of(folder, status, path);
  if (distrust.rule.empty()) return {};
  std::string remedy = distrust.remedy.empty() ? "" : distrust.remedy + ", or ";
  return {path, std::move(distrust.rule), remedy.append(elsewhere), false, distrust.error};
}

/// The same of the cache's own directory.
Refusal refusal_of_leaf(const std::string& path, const struct stat& status) {
  const auto refusal = [&path](std::string rule, std::string remedy) {
    return Refusal{path, std::move(rule), std::move(remedy)};
  };
  if (S_ISLNK(status.st_mode)) {
    return refusal("is a symbolic link", "name the folder it leads to with MAMBA_GEMM_CACHE, or remove the link");
  }
  if (!S_ISDIR(status.st_mode)) return refusal("is not a folder", std::string(elsewhere));
  if (status.st_uid != geteuid()) {
    return refusal(fmt::format("belongs to user {}, not to user {}", status.st_uid, geteuid()), std::string(elsewhere));
  }
  if ((status.st_mode & os::permission_bits & ~static_cast<mode_t>(S_ISGID)) != S_IRWXU) {
    // The bits beyond 0777 of a folder stay as they are unless chmod is told about them.
    const bool is_special = (status.st_mode & os::permission_bits & ~accessible) != 0;
    std::string remedy(elsewhere);
    // A sticky folder is one that others share.
    if ((status.st_mode & S_ISVTX) == 0) {
      remedy = fmt::format("run chmod {} '{}' if nobody else has written to it, or {}", is_special ? "00700" : "700",
                           path, elsewhere);
    }
    return refusal(fmt::format("has mode {:04o}, not 0700", status.st_mode & os::permission_bits), std::move(remedy));
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
    if (error != 0) return {{}, failure(prefix, "be reached", error)};
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
        return {std::nullopt, failure(path, "be made", error)};
      }
    }
    is_new = error == 0;
  }
  // The umask may have taken bits away, without which it could not be opened, and a setgid parent given one.
  if (is_new) {
    const int error = os::change_mode_at(parent, name, S_IRWXU);
    if (error != 0) return {std::nullopt, failure(path, "be made 0700", error)};
  }
  os::Opened leaf = os::open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat status {};
  if (!leaf.file) {
    if (leaf.error == ENOENT) return absent(path);
    Refusal refusal;
    if (os::status_at(parent, name, status) == 0) refusal = refusal_of_leaf(path, status);
    if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
    return {std::nullopt, failure(path, "be opened", leaf.error)};
  }
  const int error = os::status_of(leaf.file.get(), status);
  if (error != 0) return {std::nullopt, failure(path, "be checked", error)};
  Refusal refusal = refusal_of_leaf(path, status);
  if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
  return {PrivateDirectory(std::move(leaf.file), path, status), {}};
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
    if (error != 0) return {std::nullopt, failure(here, "be entered", error)};
    Refusal refusal = refusal_of_ancestor(folder.file.get(), here, status);
    if (!refusal.rule.empty()) return {std::nullopt, std::move(refusal)};
    if (step == resolved.steps.end()) break;

    here = joined(here, step->name);
    if (step->may_make) {
      if (creation == Creation::never) return absent(here);
      error = os::make_directory_at(folder.file.get(), step->name, S_IRWXU);
      if (error != 0 && error != EEXIST) {
        return {std::nullopt, failure(here, "be made", error)};
      }
      // The umask may have taken bits away. Nobody else can have put a link in its place: this parent has been checked.
      if (error == 0) os::change_mode_at(folder.file.get(), step->name, S_IRWXU);
    }
    folder = os::open_at(folder.file.get(), step->name, passing);
    ++step;
  }
  return open_leaf(folder.file.get(), leaf, joined(here, leaf), creation);
}

PrivateDirectory::PrivateDirectory(Descriptor descriptor, std::string path, const struct stat& status)
    : descriptor_(std::move(descriptor)), path_(std::move(path)), device_(status.st_dev), number_(status.st_ino) {}

PrivateDirectory::~PrivateDirectory() {
  // A host that closes all descriptors may have got this number again for something of its own. A failure says nothing:
  // on a network file system it is what a deleted folder gives.
  struct stat status {};
  if (descriptor_ && ::fstat(descriptor_.get(), &status) == 0 && !is(status)) descriptor_.release();
}

bool PrivateDirectory::is(const struct stat& status) const noexcept {
  return S_ISDIR(status.st_mode) && status.st_dev == device_ && status.st_ino == number_;
}

bool is_still_private(const PrivateDirectory& directory) noexcept {
  struct stat status {};
  if (os::status_of(directory.descriptor(), status) != 0) return false;
  return directory.is(status) && status.st_nlink > 0 && status.st_uid == geteuid() &&
         (status.st_mode & os::permission_bits & ~static_cast<mode_t>(S_ISGID)) == S_IRWXU;
}

}  // namespace mgemm
