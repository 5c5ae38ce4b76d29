#pragma once
#include <unistd.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace mgemm::cli {

/// Owns a file descriptor; negative is none.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&&) = delete;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  /// Unlike the destructor, says whether it worked.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

/// What the operating system says of an errno.
std::string system_text(int code);

/// Writes the pieces to a new file beside `path` and renames it, so that `path` is at no time half written. Throws
/// BadInput; then `path` is as it was.
void write_whole_file(const std::filesystem::path& path, std::initializer_list<std::string_view> pieces);

}  // namespace mgemm::cli
