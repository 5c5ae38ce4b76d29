#include "cache/entry.hpp"

#include <algorithm>
#include <array>

namespace mgemm {
namespace {

constexpr std::string_view magic = "mamba-gemm entry";
constexpr size_t digest_bytes = sizeof(Digest::bytes);
constexpr size_t payload_digest_at = 72;
constexpr size_t head_digest_at = payload_digest_at + digest_bytes;
static_assert(head_digest_at + digest_bytes == entry_head_bytes);

template <typename T>
void put_number(std::string& bytes, T number) {
  for (size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i));
}

void put_digest(std::string& bytes, const Digest& digest) { bytes.append(digest.bytes.begin(), digest.bytes.end()); }

void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, std::uint64_t{text.size()});
  bytes += text;
}

std::string encode_fields(const std::vector<Identity::Field>& fields) {
  std::string bytes;
  for (const Identity::Field& field : fields) {
    put_text(bytes, field.tag);
    bytes += static_cast<char>(field.value ? 1 : 0);
    put_text(bytes, field.value ? std::string_view(*field.value) : std::string_view());
  }
  return bytes;
}

/// Takes values from the front of a text. A value that is not there in full leaves `ok` false.
struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view take(std::uint64_t count) {
    if (!ok || count > rest.size()) {
      ok = false;
      return {};
    }
    const std::string_view taken = rest.substr(0, static_cast<size_t>(count));
    rest.remove_prefix(taken.size());
    return taken;
  }
  template <typename T>
  T number() {
    T value = 0;
    const std::string_view bytes = take(sizeof value);
    for (size_t i = 0; i < bytes.size(); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    }
    return value;
  }
  Digest digest() {
    Digest value;
    std::ranges::transform(take(digest_bytes), value.bytes.begin(),
                           [](char c) { return static_cast<std::uint8_t>(c); });
    return value;
  }
};

std::optional<std::vector<Identity::Field>> decode_fields(std::string_view bytes) {
  std::vector<Identity::Field> fields;
  Reader reader{bytes};
  while (!reader.rest.empty()) {
    const std::string_view tag = reader.take(reader.number<std::uint64_t>());
    const auto presence = reader.number<std::uint8_t>();
    const std::string_view value = reader.take(reader.number<std::uint64_t>());
    // One form only: an absent value has no bytes.
    if (!reader.ok || presence > 1 || (presence == 0 && !value.empty())) return std::nullopt;
    Identity::Field field{std::string(tag), std::nullopt};
    if (presence == 1) field.value = std::string(value);
    fields.push_back(std::move(field));
  }
  return fields;
}

Digest digest_of_head(std::string_view head, std::string_view fields) {
  Sha256 hash;
  hash.update(head);
  hash.update(fields);
  return hash.finish();
}

constexpr std::array<std::string_view, kind_count> kind_names{"ptx", "machine-code", "memo", "verdict"};

struct RejectText {
  std::string_view name;
  std::string_view explanation;
};

constexpr std::array<RejectText, reject_count> reject_texts{{
    {"none", "it is sound"},
    {"truncated", "it is shorter than it says"},
    {"overlong", "it is longer than it says or than an entry may be"},
    {"foreign", "it was not written by this library"},
    {"version", "it has another format version"},
    {"malformed", "its lengths, fields or kind cannot be"},
    {"damaged", "its SHA-256 does not match"},
    {"wrong-key", "it is of another key or kind than its name says"},
    {"not-a-file", "it is not a regular file"},
    {"hard-linked", "it has another name elsewhere"},
    {"owner", "it belongs to another user"},
    {"mode", "its mode is not 0600"},
    {"unreadable", "it could not be read"},
}};

}  // namespace

std::string_view to_string(Kind kind) { return kind_names.at(index_of(kind)); }

std::optional<Kind> kind_from(std::string_view name) {
  const auto* const found = std::ranges::find(kind_names, name);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<Kind>(found - kind_names.begin() + 1);
}

std::string_view to_string(Reject reject) { return reject_texts.at(static_cast<size_t>(reject)).name; }
std::string_view explain(Reject reject) { return reject_texts.at(static_cast<size_t>(reject)).explanation; }

std::string encode(const Entry& entry) {
  const std::string fields = encode_fields(entry.fields);
  std::string bytes;
  bytes.reserve(entry_head_bytes + fields.size() + entry.payload.size());
  bytes += magic;
  put_number(bytes, entry_version);
  put_number(bytes, static_cast<std::uint32_t>(entry.kind));
  put_digest(bytes, entry.key);
  put_number(bytes, std::uint64_t{fields.size()});
  put_number(bytes, std::uint64_t{entry.payload.size()});
  put_digest(bytes, sha256(entry.payload));
  put_digest(bytes, digest_of_head(bytes, fields));
  bytes += fields;
  bytes += entry.payload;
  return bytes;
}

std::optional<Entry> decode(std::string_view bytes, Reject& reject) {
  const auto rejected = [&reject](Reject why) {
    reject = why;
    return std::nullopt;
  };
  reject = Reject::none;
  if (bytes.size() > most_entry_bytes) return rejected(Reject::overlong);
  const std::string_view start = bytes.substr(0, magic.size());
  if (start != magic.substr(0, start.size())) return rejected(Reject::foreign);

  Reader reader{bytes};
  reader.take(magic.size());
  const auto version = reader.number<std::uint32_t>();
  if (!reader.ok) return rejected(Reject::truncated);
  if (version != entry_version) return rejected(Reject::version);
  if (bytes.size() < entry_head_bytes) return rejected(Reject::truncated);

  Entry entry;
  const auto kind = reader.number<std::uint32_t>();
  entry.key = reader.digest();
  const auto fields_length = reader.number<std::uint64_t>();
  const auto payload_length = reader.number<std::uint64_t>();
  entry.payload_digest = reader.digest();
  const Digest head_digest = reader.digest();
  if (kind < 1 || kind > kind_count) return rejected(Reject::malformed);
  entry.kind = static_cast<Kind>(kind);

  // Each is small, so that their sum cannot wrap round.
  if (fields_length > most_field_bytes || payload_length > most_entry_bytes) return rejected(Reject::malformed);
  const std::uint64_t wanted = fields_length + payload_length;
  if (reader.rest.size() < wanted) return rejected(Reject::truncated);
  if (reader.rest.size() > wanted) return rejected(Reject::overlong);

  const std::string_view fields = reader.take(fields_length);
  if (digest_of_head(bytes.substr(0, head_digest_at), fields) != head_digest) return rejected(Reject::damaged);
  auto decoded_fields = decode_fields(fields);
  if (!decoded_fields) return rejected(Reject::malformed);
  entry.fields = std::move(*decoded_fields);
  if (sha256(reader.rest) != entry.payload_digest) return rejected(Reject::damaged);
  entry.payload = reader.rest;
  return entry;
}

std::optional<Entry> decode(std::string_view bytes, std::string& reason) {
  Reject reject = Reject::none;
  auto entry = decode(bytes, reject);
  reason = entry ? std::string_view() : explain(reject);
  return entry;
}

}  // namespace mgemm
