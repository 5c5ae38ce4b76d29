#include "npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "failure.hpp"
#include "npy_header.hpp"
#include "whole_file.hpp"

namespace mgemm::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read and written as they lie in memory");

/// Up to `bytes` bytes; fewer only at the end of the file.
std::size_t read_some(const File& file, char* destination, std::size_t bytes, const std::string& name) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(file.get(), destination + done, bytes - done);
    if (count == 0) break;
    if (count < 0) {
      if (errno == EINTR) continue;
      bad_input("{}: cannot be read: {}", name, system_text(errno));
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Everything before the data. `remaining` is counted down from the file's size, so that no length in the file is
/// believed before it is known to fit.
NpyHeader read_preamble(const File& file, std::uint64_t& remaining, const std::string& name) {
  constexpr std::string_view magic = "\x93NUMPY";
  constexpr std::uint64_t longest_header = 1U << 20U;
  const auto take = [&](std::uint64_t bytes) {
    std::string text(static_cast<std::size_t>(std::min(bytes, remaining)), '\0');
    text.resize(read_some(file, text.data(), text.size(), name));
    remaining -= text.size();
    return text;
  };
  if (take(magic.size()) != magic) bad_input("{}: not a .npy file", name);
  const std::string version = take(2);
  if (version.size() < 2) bad_input("{}: truncated header", name);
  const auto major = static_cast<unsigned char>(version[0]);
  const auto minor = static_cast<unsigned char>(version[1]);
  if (major < 1 || major > 3 || minor != 0)
    bad_input("{}: unknown .npy version {}.{}; 1.0, 2.0 and 3.0 are read", name, major, minor);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::string length_text = take(length_bytes);
  if (length_text.size() < length_bytes) bad_input("{}: truncated header", name);
  const std::uint64_t length = little_endian(length_text);
  if (length > remaining)
    bad_input("{}: truncated header: it is said to have {} bytes, {} follow", name, length, remaining);
  if (length > longest_header) bad_input("{}: a header of {} bytes is absurd", name, length);
  try {
    return parse_header(take(length));
  } catch (const BadInput& error) {
    bad_input("{}: {}", name, error.what());
  }
}

/// Why a dtype other than '<f4' is refused.
std::string dtype_rule(const std::string& descr) {
  if (descr.starts_with('>')) return "big-endian data; only '<f4' is read";
  return "only '<f4' is read";
}

std::optional<std::uint64_t> byte_count(std::span<const std::int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path, std::size_t dimensions) {
  const std::string name = path.string();
  // O_NONBLOCK: opening a named pipe must not wait for a writer before it is refused.
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0)
    bad_input("{}: cannot be opened: {}", name, system_text(errno));
  if (!S_ISREG(facts.st_mode)) bad_input("{}: not a regular file", name);

  auto remaining = static_cast<std::uint64_t>(facts.st_size);
  NpyHeader header = read_preamble(file, remaining, name);
  const std::string what =
      fmt::format("{}: dtype {}, shape {}", name, in_quotes(header.descr), shape_text(header.shape));
  if (header.descr != "<f4") bad_input("{}: {}", what, dtype_rule(header.descr));
  if (header.fortran_order) bad_input("{}: Fortran order; only C order is read", what);
  if (header.shape.size() != dimensions)
    bad_input("{}: {} dimensions where {} are needed", what, header.shape.size(), dimensions);
  const std::optional<std::uint64_t> bytes = byte_count(header.shape);
  if (!bytes) bad_input("{}: the product of the sizes overflows", what);
  if (remaining < *bytes) bad_input("{}: truncated data: {} bytes of {}", what, remaining, *bytes);
  if (remaining > *bytes) bad_input("{}: {} trailing bytes behind the data", what, remaining - *bytes);

  NpyArray array{std::move(header.shape), std::vector<float>(*bytes / sizeof(float))};
  if (read_some(file, reinterpret_cast<char*>(array.values.data()), *bytes, name) != *bytes)
    bad_input("{}: truncated data: the file shrank while it was read", what);
  return array;
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values) {
  const std::string preamble = make_npy_preamble(shape);
  write_whole_file(path, {preamble, {reinterpret_cast<const char*>(values.data()), values.size_bytes()}});
}

}  // namespace mgemm::cli
