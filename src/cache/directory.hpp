#pragma once
#include <optional>
#include <string>

#include "cache/os.hpp"

namespace mgemm {

/// Why a directory is not used.
struct Refusal {
  std::string component;   // the path of what is wrong
  std::string rule;        // what is wrong with it
  std::string remedy;      // what to do, "" if nothing is known to help
  bool is_absent = false;  // it is only not there, and was not to be made
};

/// "COMPONENT RULE; REMEDY".
std::string to_string(const Refusal& refusal);

enum class Creation { allowed, never };

/// A directory whose contents can be trusted as far as our own user can: reached without a link, ours, and closed to
/// everybody else. All access goes through the descriptor, so a path that changes later changes nothing.
class PrivateDirectory {
 public:
  PrivateDirectory(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  Descriptor descriptor_;
  std::string path_;
};

struct DirectoryResult {
  std::optional<PrivateDirectory> directory;
  Refusal refusal;  // if there is no directory
};

/// Opens an absolute path by these rules. Links above the last component are resolved once; then the real path is
/// walked from the root without following any. Directories above the last belong to root or to us (inside a user
/// namespace also to the overflow user, who stands for root outside), cannot be written by everyone unless sticky, and
/// by a group only if they are ours with our own group. The last is ours, 0700 (setgid aside), and no link. Missing
/// ones are made 0700.
DirectoryResult open_private_directory(const std::string& path, Creation creation);

/// Whether it still exists and still is ours and 0700.
bool is_still_private(const PrivateDirectory& directory) noexcept;

}  // namespace mgemm
