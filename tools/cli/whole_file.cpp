#include "whole_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "failure.hpp"

namespace mgemm::cli {
namespace {

void write_all(const File& file, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      bad_input("{}: cannot be written: {}", name, system_text(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// A new file in the same folder; removed again unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path beside) : target_(std::move(beside)), file_(create()) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  Temporary(Temporary&&) = delete;
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  const File& file() const { return file_; }

  void commit() {
    // The data must be there before the name is, also after a power failure.
    if (::fsync(file_.get()) != 0 || !file_.close() || ::rename(name_.c_str(), target_.c_str()) != 0)
      bad_input("{}: cannot be written: {}", target_.string(), system_text(errno));
    name_.clear();
  }

 private:
  File create() {
    constexpr mode_t mode = 0666;  // less the umask
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      name_ = fmt::format("{}.tmp-{}-{}", target_.string(), ::getpid(), i);
      const int descriptor = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor >= 0) return File(descriptor);
      if (errno != EEXIST) break;
    }
    bad_input("{}: cannot be written: {}", target_.string(), system_text(errno));
  }

  std::filesystem::path target_;
  std::string name_;
  File file_;
};

}  // namespace

std::string system_text(int code) { return std::system_category().message(code); }

void write_whole_file(const std::filesystem::path& path, std::initializer_list<std::string_view> pieces) {
  Temporary temporary(path);
  for (const std::string_view piece : pieces) write_all(temporary.file(), piece, path.string());
  temporary.commit();
}

}  // namespace mgemm::cli
