// The bytes of one entry of the cache. Pure: nothing here touches a file.
//
// All numbers are little-endian.
//     0  magic            16 bytes, "mamba-gemm entry"
//    16  format version   u32
//    20  kind             u32
//    24  key              32 bytes
//    56  fields' length   u64, of the whole list in bytes
//    64  payload length   u64
//    72  payload SHA-256  32 bytes
//   104  head SHA-256     32 bytes, of bytes 0 to 104 followed by the fields
//   136  fields           each: tag length u64, tag, presence byte, value length u64, value
//        payload          to the end
// So every byte of an entry is covered by one of the two digests, and the payload is hashed once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"
#include "identity/identity.hpp"

namespace mgemm {

enum class Kind : std::uint32_t { ptx = 1, machine_code = 2, memo = 3, verdict = 4 };
constexpr size_t kind_count = 4;

/// 0 to kind_count - 1.
constexpr size_t index_of(Kind kind) { return static_cast<size_t>(kind) - 1; }

/// "ptx", "machine-code", "memo", "verdict".
std::string_view to_string(Kind kind);
std::optional<Kind> kind_from(std::string_view name);

struct Entry {
  Digest key{};
  Kind kind = Kind::ptx;
  std::vector<Identity::Field> fields{};  // where the payload came from, for people and tools
  std::string payload{};
  Digest payload_digest{};  // set by whoever hands an entry out; encode() does not rely on it
};

/// Why an entry, or the file it is in, is not used.
enum class Reject : std::uint8_t {
  none,
  truncated,    // shorter than it says
  overlong,     // longer than it says, or than an entry may be
  foreign,      // not an entry of ours
  version,      // another format version
  malformed,    // lengths, fields or kind that cannot be
  damaged,      // a digest does not match
  wrong_key,    // an entry, but of another key or kind than its name says
  not_a_file,   // a directory, link, pipe or socket
  hard_linked,  // another name exists
  owner,        // belongs to another user
  mode,         // not 0600
  unreadable,   // the operating system gave an error
};
constexpr size_t reject_count = 13;

/// For example "truncated".
std::string_view to_string(Reject reject);
/// A sentence part for people, for example "it is shorter than it says".
std::string_view explain(Reject reject);

constexpr size_t entry_head_bytes = 136;
constexpr size_t most_entry_bytes = size_t{64} << 20U;
constexpr size_t most_field_bytes = size_t{1} << 20U;
constexpr std::uint32_t entry_version = 1;

/// Without limits: what is longer than most_entry_bytes, or has more than most_field_bytes of fields, encodes and is
/// then rejected.
std::string encode(const Entry& entry);

/// The entry, if `bytes` is exactly one. encode() of what this gives is `bytes` again.
std::optional<Entry> decode(std::string_view bytes, Reject& reject);
std::optional<Entry> decode(std::string_view bytes, std::string& reason);

}  // namespace mgemm
