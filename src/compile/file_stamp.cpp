#include "compile/file_stamp.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace mgemm {
namespace {

constexpr std::size_t most_note_bytes = 65536;
constexpr std::uint64_t most_segments = 64;
constexpr std::string_view gnu_notes{ELF_NOTE_GNU, sizeof ELF_NOTE_GNU};  // with its NUL

[[noreturn]] void fail_io(const char* what, const std::string& path) {
  fail(MGEMM_IO, "could not {} {}: {}", what, path, std::generic_category().message(errno));
}

Descriptor open_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) fail_io("open", path);
  return file;
}

/// The next bytes, as many as there are room for unless the file ends.
std::size_t read_full(const Descriptor& file, std::span<std::byte> to, const std::string& path) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t size = ::read(file.get(), to.data() + done, to.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail_io("read", path);
    if (size == 0) break;
    done += static_cast<std::size_t>(size);
  }
  return done;
}

/// Whether that part of the file could be read; a file that is no library simply has none.
bool read_at(const Descriptor& file, std::uint64_t offset, void* to, std::size_t size) {
  return offset <= INT64_MAX && ::pread(file.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

constexpr std::uint64_t padded(std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; }

std::string build_id_in(std::span<const unsigned char> notes) {
  Elf64_Nhdr note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const std::uint64_t name_end = sizeof note + padded(note.n_namesz);
    const std::uint64_t end = name_end + padded(note.n_descsz);
    if (end > notes.size()) return {};
    const std::string_view name(reinterpret_cast<const char*>(notes.data()) + sizeof note, note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && name == gnu_notes) {
      std::string text;
      for (const unsigned char byte : notes.subspan(name_end, note.n_descsz)) text += fmt::format("{:02x}", byte);
      return text;
    }
    notes = notes.subspan(end);
  }
  return {};
}

std::string build_id_of(const Descriptor& file) {
  Elf64_Ehdr header{};
  if (!read_at(file, 0, &header, sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > most_segments) return {};
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_at(file, header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return {};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > most_note_bytes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (!read_at(file, segment.p_offset, notes.data(), notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileStamp stamp_file(const std::string& path) {
  const Descriptor file = open_file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_io("examine", path);
  if (!S_ISREG(status.st_mode)) fail(MGEMM_IO, "{} is not a regular file", path);
  return {build_id_of(file), static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim), status.st_ino};
}

Digest file_sha256(const std::string& path) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
  const Descriptor file = open_file(path);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  Sha256 hash;
  std::vector<std::byte> piece(piece_bytes);
  for (std::size_t size = piece.size(); size == piece.size();) {
    size = read_full(file, piece, path);
    hash.update(std::span(piece).first(size));
  }
  return hash.finish();
}

bool same_content(const std::string& one, const std::string& other) {
  constexpr std::size_t piece_bytes = 65536;
  const Descriptor first = open_file(one);
  const Descriptor second = open_file(other);
  std::vector<std::byte> left(piece_bytes);
  std::vector<std::byte> right(piece_bytes);
  for (;;) {
    const std::size_t size = read_full(first, left, one);
    if (read_full(second, right, other) != size) return false;
    if (std::memcmp(left.data(), right.data(), size) != 0) return false;
    if (size < piece_bytes) return true;
  }
}

}  // namespace mgemm
