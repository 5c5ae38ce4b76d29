#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.hpp"

namespace mgemm {

// Bytes that are complete or refused: magic, version, length of the body, body, SHA-256 of all before it. Numbers are
// little-endian, u64 but for the version (u32).

/// The kind of what is in a frame.
struct FrameKind {
  std::string_view magic;  // 8 bytes
  std::uint32_t version;
};

std::string seal_frame(const FrameKind& kind, std::string_view body);

struct OpenedFrame {
  std::string_view body;
  std::string problem;  // "" if the frame is whole and of this kind, else what is wrong, for people
};

/// `limit` bounds the whole frame. Bytes behind the frame are a problem too.
OpenedFrame open_frame(const FrameKind& kind, std::string_view bytes, std::size_t limit);

/// For reading a frame from a stream: how many bytes to have in all before it is worth looking again. Not more than
/// there are already if the frame is complete or can be refused as it is.
std::size_t frame_bytes_wanted(const FrameKind& kind, std::string_view bytes, std::size_t limit);

class BodyWriter {
 public:
  BodyWriter& number(std::uint64_t value);
  BodyWriter& text(std::string_view value);
  BodyWriter& digest(const Digest& value);
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

/// Reads what BodyWriter wrote. After a mistake everything reads as nothing, and good() is false.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}

  std::uint64_t number();
  std::string_view text();  // into the body
  Digest digest();
  /// A number of things that follow, each of at least `least_bytes`.
  std::size_t count(std::size_t least_bytes);

  bool good() const { return good_; }
  /// Whether all was read, and well.
  bool finished() const { return good_ && rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size);

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace mgemm
