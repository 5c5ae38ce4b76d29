#include "compile/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mgemm {
namespace {

constexpr std::size_t magic_bytes = 8;
constexpr std::size_t version_bytes = 4;
constexpr std::size_t number_bytes = 8;
constexpr std::size_t header_bytes = magic_bytes + version_bytes + number_bytes;
constexpr std::size_t digest_bytes = sizeof(Digest::bytes);

void add_number(std::string& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

Digest digest_in(std::string_view bytes) {
  Digest digest;
  std::ranges::transform(bytes.substr(0, digest_bytes), digest.bytes.begin(),
                         [](char byte) { return static_cast<std::uint8_t>(byte); });
  return digest;
}

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

/// What a whole header says, or what is wrong with it.
struct Header {
  std::size_t total = 0;
  std::string problem;
};

Header read_header(const FrameKind& kind, std::string_view bytes, std::size_t limit) {
  if (!bytes.starts_with(kind.magic)) return {0, "does not begin as it should"};
  const std::uint64_t version = number_in(bytes.substr(magic_bytes, version_bytes));
  if (version != kind.version) return {0, fmt::format("has version {}, not {}", version, kind.version)};
  const std::uint64_t body = number_in(bytes.substr(magic_bytes + version_bytes, number_bytes));
  constexpr std::size_t around = header_bytes + digest_bytes;
  if (limit < around || body > limit - around) {
    return {0, fmt::format("announces {} bytes, more than the limit of {}", body, limit)};
  }
  return {around + static_cast<std::size_t>(body), {}};
}

}  // namespace

std::string seal_frame(const FrameKind& kind, std::string_view body) {
  std::string bytes;
  bytes.reserve(header_bytes + body.size() + digest_bytes);
  bytes += kind.magic;
  add_number(bytes, kind.version, version_bytes);
  add_number(bytes, body.size(), number_bytes);
  bytes += body;
  bytes += as_text(sha256(bytes));
  return bytes;
}

OpenedFrame open_frame(const FrameKind& kind, std::string_view bytes, std::size_t limit) {
  if (bytes.empty()) return {{}, "is empty"};
  if (!bytes.starts_with(kind.magic.substr(0, bytes.size()))) return {{}, "does not begin as it should"};
  if (bytes.size() < header_bytes) return {{}, fmt::format("ends after {} bytes", bytes.size())};
  const Header header = read_header(kind, bytes, limit);
  if (!header.problem.empty()) return {{}, header.problem};
  if (bytes.size() < header.total) return {{}, fmt::format("ends after {} of {} bytes", bytes.size(), header.total)};
  if (bytes.size() > header.total) return {{}, fmt::format("has {} bytes too many", bytes.size() - header.total)};
  const std::string_view hashed = bytes.substr(0, header.total - digest_bytes);
  if (sha256(hashed) != digest_in(bytes.substr(hashed.size()))) return {{}, "does not have the SHA-256 it announces"};
  return {hashed.substr(header_bytes), {}};
}

std::size_t frame_bytes_wanted(const FrameKind& kind, std::string_view bytes, std::size_t limit) {
  if (!bytes.starts_with(kind.magic.substr(0, bytes.size()))) return bytes.size();
  if (bytes.size() < header_bytes) return header_bytes;
  const Header header = read_header(kind, bytes, limit);
  return header.problem.empty() ? header.total : bytes.size();
}

BodyWriter& BodyWriter::number(std::uint64_t value) {
  add_number(body_, value, number_bytes);
  return *this;
}

BodyWriter& BodyWriter::text(std::string_view value) {
  number(value.size());
  body_ += value;
  return *this;
}

BodyWriter& BodyWriter::digest(const Digest& value) {
  body_ += as_text(value);
  return *this;
}

std::string_view BodyReader::take(std::uint64_t size) {
  if (!good_ || size > rest_.size()) {
    good_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::uint64_t BodyReader::number() { return number_in(take(number_bytes)); }

std::string_view BodyReader::text() { return take(number()); }

Digest BodyReader::digest() { return digest_in(take(digest_bytes)); }

std::size_t BodyReader::count(std::size_t least_bytes) {
  const std::uint64_t value = number();
  if (value > rest_.size() / least_bytes) good_ = false;
  return good_ ? static_cast<std::size_t>(value) : 0;
}

}  // namespace mgemm
