// The bytes of an entry.
#include <fmt/format.h>

#include <set>

#include "support/cache.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

std::string golden(Kind kind) {
  return read_file(fmt::format("{}/tests/cache/golden/{}.v1.bin", MGEMM_SOURCE_DIR, to_string(kind)));
}

Reject reject_of(std::string_view bytes) {
  Reject reject = Reject::none;
  const auto entry = decode(bytes, reject);
  REQUIRE(entry.has_value() == (reject == Reject::none));
  return reject;
}

/// One byte of each part of an entry: the part's first, last and one between.
std::set<size_t> positions_of_every_class(const std::string& bytes, size_t fields_length) {
  std::set<size_t> positions;
  const std::vector<size_t> ends{0, 16, 20, 24, 56, 64, 72, 104, 136, 136 + fields_length, bytes.size()};
  for (size_t i = 1; i < ends.size(); ++i) {
    for (const size_t at : {ends[i - 1], (ends[i - 1] + ends[i]) / 2, ends[i] - 1}) {
      if (at < ends[i] && ends[i - 1] < ends[i]) positions.insert(at);
    }
  }
  return positions;
}

}  // namespace

// Catches a format that changes without a new version: the golden files are written by another program.
TEST_CASE("cache entries have their golden bytes", "[cache]") {
  Digest up;
  for (size_t i = 0; i < up.bytes.size(); ++i) up.bytes.at(i) = static_cast<std::uint8_t>(i);
  Digest down;
  for (size_t i = 0; i < down.bytes.size(); ++i) down.bytes.at(i) = static_cast<std::uint8_t>(31 - i);
  Digest all;
  all.bytes.fill(255);
  std::string count_up;
  for (int i = 0; i < 256; ++i) count_up += static_cast<char>(i);

  const std::vector<Entry> entries{
      {up,
       Kind::ptx,
       {{"module", "f32_tile"}, {"nvrtc", "13.0"}, {"option", "-fmad=false"}, {"option", "--std=c++17"}},
       ".version 9.0\n.target sm_90a\n.address_size 64\n",
       {}},
      {down,
       Kind::machine_code,
       {{"target", "sm_90a"}},
       "\x7f"
       "ELF\x02\x01\x01"
       "A" +
           std::string(1000, '\0'),
       {}},
      {all,
       Kind::memo,
       {{"absent", std::nullopt}, {"empty", ""}, {"", "no tag"}, {"nul", std::string("a\0b", 3)}},
       count_up,
       {}},
      {Digest{}, Kind::verdict, {}, "", {}},
  };
  for (const Entry& entry : entries) {
    CAPTURE(to_string(entry.kind));
    const std::string bytes = golden(entry.kind);
    REQUIRE(bytes.size() >= entry_head_bytes);
    CHECK(encode(entry) == bytes);
    Reject reject = Reject::none;
    const auto decoded = decode(bytes, reject);
    REQUIRE(decoded);
    CHECK(same_entry(*decoded, entry));
    CHECK(decoded->payload_digest == sha256(entry.payload));
  }
}

// Catches fields or payloads that come back other than they went in.
TEST_CASE("random cache entries survive the round trip", "[cache]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int i = 0; i < 500; ++i) {
    const Entry entry = random_entry(random);
    const std::string bytes = encode(entry);
    std::string reason = "not asked";
    const auto decoded = decode(bytes, reason);
    REQUIRE(decoded);
    REQUIRE(reason.empty());
    REQUIRE(same_entry(*decoded, entry));
    REQUIRE(decoded->payload_digest == entry.payload_digest);
    REQUIRE(encode(*decoded) == bytes);
  }
}

// Catches a byte that no check covers. Every byte of a small entry, by every single bit and by all of them.
TEST_CASE("a flipped byte anywhere in an entry rejects it", "[cache]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  Entry entry = random_entry(random, 40);
  entry.fields = {{"tag", "value"}, {"absent", std::nullopt}};
  const std::string sound = encode(entry);
  for (size_t at = 0; at < sound.size(); ++at) {
    for (const unsigned mask : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U, 255U}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ mask);
      CAPTURE(at, mask);
      REQUIRE(reject_of(bytes) != Reject::none);
    }
  }
  const Entry large = random_entry(random, 100000);
  const std::string bytes = encode(large);
  std::uint64_t fields_length = 0;
  for (size_t i = 0; i < 8; ++i) fields_length |= std::uint64_t{static_cast<unsigned char>(bytes[56 + i])} << (8 * i);
  for (const size_t at : positions_of_every_class(bytes, static_cast<size_t>(fields_length))) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(~flipped[at]);
    CAPTURE(at);
    REQUIRE(reject_of(flipped) != Reject::none);
  }
}

// Catches reads past the end, and a cut or longer file that still counts. Every length of a small entry.
TEST_CASE("an entry of any other length is rejected", "[cache]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const std::string sound = encode(random_entry(random, 300));
  for (size_t length = 0; length < sound.size(); ++length) {
    CAPTURE(length);
    // A buffer of just that length, so that the address sanitizer sees a read past it.
    const std::vector<char> exact(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE(reject_of({exact.data(), exact.size()}) == Reject::truncated);
  }
  CHECK(reject_of(sound + '\0') == Reject::overlong);
  CHECK(reject_of(sound + sound) == Reject::overlong);
}

// Catches lengths that are trusted: sums that wrap round, more fields than the limit, values longer than the rest.
TEST_CASE("lengths that cannot be are rejected before they are used", "[cache]") {
  Entry entry{key_of(1), Kind::ptx, {{"tag", "value"}}, "payload", {}};
  const std::string sound = encode(entry);
  const auto with_length = [&sound](size_t at, std::uint64_t length) {
    std::string bytes = sound;
    for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(length >> (8 * i));
    return bytes;
  };
  for (const std::uint64_t length : {~std::uint64_t{0}, std::uint64_t{1} << 63U, ~std::uint64_t{0} - 7}) {
    CHECK(reject_of(with_length(56, length)) == Reject::malformed);
    CHECK(reject_of(with_length(64, length)) == Reject::malformed);
  }
  entry.fields = {{"large", std::string(most_field_bytes, 'x')}};
  CHECK(reject_of(encode(entry)) == Reject::malformed);
  entry.fields.clear();
  entry.payload.resize(most_entry_bytes - entry_head_bytes);
  CHECK(reject_of(encode(entry)) == Reject::none);
  entry.payload += 'x';
  CHECK(reject_of(encode(entry)) == Reject::overlong);
}

// Catches a reader that takes older formats, other programs' files, or the former format of this cache.
TEST_CASE("foreign and older entries are told apart", "[cache]") {
  std::string bytes = encode({key_of(1), Kind::ptx, {}, "payload", {}});
  CHECK(reject_of("") == Reject::truncated);
  CHECK(reject_of("mamba-gemm ptx 1\n" + to_hex(sha256("x")) + "\nx") == Reject::foreign);
  CHECK(reject_of(std::string(1000, '\0')) == Reject::foreign);
  for (const char version : {char{0}, char{2}}) {
    bytes[16] = version;
    CHECK(reject_of(bytes) == Reject::version);
  }
}

// Catches names that do not lead back.
TEST_CASE("kinds and rejects have names", "[cache]") {
  for (const Kind kind : {Kind::ptx, Kind::machine_code, Kind::memo, Kind::verdict}) {
    CHECK(kind_from(to_string(kind)) == kind);
    CHECK(index_of(kind) < kind_count);
    const auto name = parse_entry_name(entry_name(key_of(3), kind));
    REQUIRE(name);
    CHECK(name->key == key_of(3));
    CHECK(name->kind == kind);
  }
  CHECK_FALSE(kind_from("cubin"));
  CHECK_FALSE(parse_entry_name(to_hex(key_of(3))));
  CHECK_FALSE(parse_entry_name(to_hex(key_of(3)) + ".ptx.x"));
  CHECK_FALSE(parse_entry_name("lock"));
  CHECK_FALSE(is_temporary_name(entry_name(key_of(3), Kind::ptx)));
  CHECK(is_temporary_name(fresh_temporary_name()));
  CHECK(fresh_temporary_name() != fresh_temporary_name());
  std::set<std::string_view> names;
  for (size_t i = 0; i < reject_count; ++i) names.insert(to_string(static_cast<Reject>(i)));
  CHECK(names.size() == reject_count);
}
