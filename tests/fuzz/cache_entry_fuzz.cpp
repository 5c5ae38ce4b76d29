// Feeds the reader of cache entries anything at all. Crashes, sanitizer reports and accepted bytes that do not encode
// back to themselves are findings.
#include <array>
#include <cstdlib>

#include "cache/entry.hpp"

namespace {

using namespace mgemm;

constexpr size_t payload_length_at = 64;
constexpr size_t fields_length_at = 56;
constexpr size_t payload_digest_at = 72;
constexpr size_t head_digest_at = 104;

std::uint64_t number_at(std::string_view bytes, size_t at) {
  std::uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

void put_number(std::string& bytes, size_t at, std::uint64_t number) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(number >> (8 * i));
}

void put_digest(std::string& bytes, size_t at, const Digest& digest) {
  for (size_t i = 0; i < digest.bytes.size(); ++i) bytes[at + i] = static_cast<char>(digest.bytes.at(i));
}

/// Makes everything right but kind and fields: a fuzzer will not guess a SHA-256, and must get past them.
std::string sealed(std::string bytes) {
  const std::uint64_t rest = bytes.size() - entry_head_bytes;
  const std::uint64_t fields = number_at(bytes, fields_length_at) % (rest + 1);
  put_number(bytes, fields_length_at, fields);
  put_number(bytes, payload_length_at, rest - fields);
  const std::string_view view = bytes;
  const Digest payload = sha256(view.substr(entry_head_bytes + static_cast<size_t>(fields)));
  constexpr std::string_view start{"mamba-gemm entry\1\0\0\0", 20};
  bytes.replace(0, start.size(), start);
  put_digest(bytes, payload_digest_at, payload);
  const std::string head =
      bytes.substr(0, head_digest_at) + bytes.substr(entry_head_bytes, static_cast<size_t>(fields));
  put_digest(bytes, head_digest_at, sha256(head));
  return bytes;
}

void check(std::string_view bytes) {
  Reject reject = Reject::none;
  const auto entry = decode(bytes, reject);
  if (entry.has_value() != (reject == Reject::none)) std::abort();
  if (entry && (encode(*entry) != bytes || entry->payload_digest != sha256(entry->payload))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string bytes(data, data + size);
  check(bytes);
  if (size >= entry_head_bytes) check(sealed(bytes));
  return 0;
}
