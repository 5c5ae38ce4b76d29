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
  int error = 0;           // of the system, if no rule but a call that failed is the reason
};

/// "COMPONENT RULE; REMEDY".
std::string to_string(const Refusal& refusal);

enum class Creation { allowed, never };

/// A directory whose contents can be trusted as far as our own user can: reached without a link, ours, and closed to
/// everybody else. All access goes through the descriptor, so a path that changes later changes nothing.
class PrivateDirectory {
 public:
  PrivateDirectory(Descriptor descriptor, std::string path, const struct stat& status);
  ~PrivateDirectory();
  PrivateDirectory(PrivateDirectory&&) = default;
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string& path() const noexcept { return path_; }
  /// Whether that is the status of this very folder.
  bool is(const struct stat& status) const noexcept;

 private:
  Descriptor descriptor_;
  std::string path_;
  dev_t device_;
  ino_t number_;
};

struct DirectoryResult {
  std::optional<PrivateDirectory> directory;
  Refusal refusal;  // if there is no directory
};

/// Opens an absolute path by these rules. Links above the last component are resolved once; then the real path is
/// walked from the root without following any. Directories above the last are in nobody else's hands (cache/trust.hpp).
/// The last is ours, 0700 (setgid aside), and no link. Missing ones are made 0700.
DirectoryResult open_private_directory(const std::string& path, Creation creation);

/// Whether its descriptor still means this folder, and that still exists and still is ours and 0700.
bool is_still_private(const PrivateDirectory& directory) noexcept;

}  // namespace mgemm
