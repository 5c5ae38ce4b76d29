#include "cache/file_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"

namespace mgemm {
namespace {

constexpr std::string_view magic = "mamba-gemm ptx 1\n";

std::string entry_path(const std::string& directory, const Digest& key) {
  return fmt::format("{}/{}.ptx", directory, to_hex(key));
}

/// magic, payload's SHA-256 in hexadecimal, newline, payload.
std::string entry_of(const std::string& payload) {
  return std::string(magic) + to_hex(sha256(payload)) + '\n' + payload;
}

/// A file descriptor that is closed at the end of its scope.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&&) = delete;
  File& operator=(File&&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail_io(const char* what, const std::string& path) {
  fail(MGEMM_IO, "{} {}: {}", what, path, std::generic_category().message(errno));
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_io("could not write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void write_beside_and_rename(const std::string& path, const std::string& bytes) {
  std::string temporary = path + ".XXXXXX";
  const File file(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (file.get() < 0) fail_io("could not create", temporary);
  try {
    write_all(file.get(), bytes, temporary);
    if (::fsync(file.get()) != 0) fail_io("could not sync", temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_io("could not rename", temporary);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void make_directory(const std::string& directory) {
  const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
  std::filesystem::create_directories(parent);
  if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail_io("could not make", directory);
}

}  // namespace

std::optional<std::string> load_cached(const std::string& directory, const Digest& key) {
  if (directory.empty()) return std::nullopt;
  const std::string path = entry_path(directory, key);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string entry{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const size_t header = magic.size() + 2 * sizeof(Digest) + 1;
  if (entry.size() < header) {
    log(MGEMM_LOG_INFO, "cache entry {} is truncated; it will be made anew", path);
    return std::nullopt;
  }
  std::string payload = entry.substr(header);
  if (entry_of(payload) != entry) {
    log(MGEMM_LOG_INFO, "cache entry {} is damaged; it will be made anew", path);
    return std::nullopt;
  }
  return payload;
}

void store_cached(const std::string& directory, const Digest& key, const std::string& payload) noexcept {
  if (directory.empty()) return;
  try {
    make_directory(directory);
    write_beside_and_rename(entry_path(directory, key), entry_of(payload));
  } catch (const std::exception& error) {
    log(MGEMM_LOG_WARN, "the cache in {} could not be written, going on without: {}", directory, error.what());
  }
}

}  // namespace mgemm
