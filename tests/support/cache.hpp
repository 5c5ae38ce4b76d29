// What the tests of the cache share: entries that check themselves, files, counters.
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cache/counters.hpp"
#include "cache/names.hpp"
#include "cache/store.hpp"
#include "support/random.hpp"

namespace mgemm::test {

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

inline Digest key_of(std::uint64_t number) { return sha256("key " + std::to_string(number)); }

inline bool same_fields(const Entry& a, const Entry& b) {
  return std::ranges::equal(a.fields, b.fields,
                            [](const auto& x, const auto& y) { return x.tag == y.tag && x.value == y.value; });
}
inline bool same_entry(const Entry& a, const Entry& b) {
  return a.key == b.key && a.kind == b.kind && same_fields(a, b) && a.payload == b.payload;
}

inline std::string random_bytes(Random& random, std::int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

inline Entry random_entry(Random& random, std::int64_t most_bytes = 2000) {
  Entry entry;
  for (auto& byte : entry.key.bytes) byte = static_cast<std::uint8_t>(random());
  entry.kind = static_cast<Kind>(uniform(random, 1, kind_count));
  for (std::int64_t field = uniform(random, 0, 6); field > 0; --field) {
    Identity::Field made{random_bytes(random, uniform(random, 0, 20)), std::nullopt};
    if (uniform(random, 0, 3) != 0) made.value = random_bytes(random, uniform(random, 0, 40));
    entry.fields.push_back(std::move(made));
  }
  entry.payload = random_bytes(random, uniform(random, 0, most_bytes));
  entry.payload_digest = sha256(entry.payload);
  return entry;
}

/// An entry whose payload can be recognised as one of its key's, whatever the seed it was made from.
inline Entry recognisable(const Digest& key, Kind kind, Random& random, std::int64_t most_bytes = 4000) {
  Entry entry{.key = key, .kind = kind, .fields = {{"made", "by a test"}}, .payload = {}, .payload_digest = {}};
  entry.payload = to_hex(key) + random_bytes(random, uniform(random, 0, most_bytes));
  entry.payload += to_hex(sha256(entry.payload));
  return entry;
}
inline bool is_recognised(const Digest& key, const std::string& payload) {
  constexpr size_t hex = 64;
  if (payload.size() < 2 * hex || payload.substr(0, hex) != to_hex(key)) return false;
  return payload.substr(payload.size() - hex) ==
         to_hex(sha256(std::string_view(payload).substr(0, payload.size() - hex)));
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

template <size_t N>
std::uint64_t sum(const std::array<std::uint64_t, N>& numbers) {
  std::uint64_t total = 0;
  for (const std::uint64_t number : numbers) total += number;
  return total;
}

/// How far a counter has moved since the object was made.
class Moved {
 public:
  template <typename Read>
  std::uint64_t by(Read read) const {
    return read(cache_counters()) - read(before_);
  }
  std::uint64_t rejects(Reject reject) const {
    return by([reject](const CacheCounters& c) { return c.rejects.at(static_cast<size_t>(reject)); });
  }
  std::uint64_t all_rejects() const {
    return by([](const CacheCounters& c) { return sum(c.rejects); });
  }
  std::uint64_t hits() const {
    return by([](const CacheCounters& c) { return sum(c.hits); });
  }
  std::uint64_t misses() const {
    return by([](const CacheCounters& c) { return c.misses; });
  }
  std::uint64_t compiles() const {
    return by([](const CacheCounters& c) { return sum(c.compiles); });
  }
  std::uint64_t timeouts() const {
    return by([](const CacheCounters& c) { return c.lock_timeouts; });
  }
  std::uint64_t failures(StoreFailure failure) const {
    return by([failure](const CacheCounters& c) { return c.store_failures.at(static_cast<size_t>(failure)); });
  }
  std::uint64_t all_failures() const {
    return by([](const CacheCounters& c) { return sum(c.store_failures); });
  }

 private:
  CacheCounters before_ = cache_counters();
};

inline std::int64_t temporaries_in(const std::filesystem::path& folder) {
  std::int64_t number = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    number += is_temporary_name(file.path().filename().string()) ? 1 : 0;
  }
  return number;
}

}  // namespace mgemm::test
