// What is in a cache, for people and tools.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/store.hpp"

namespace mgemm {

struct EntryInfo {
  Digest key;  // by the file's name
  Kind kind = Kind::ptx;
  std::uint64_t bytes = 0;       // of the file
  std::int64_t age_seconds = 0;  // since it was last used, to an hour; never negative
  Reject reject = Reject::none;  // why it would not be used
  std::string problem;           // the same for people, "" if it is sound
  // Of sound entries only:
  std::vector<Identity::Field> fields;
  std::uint64_t payload_bytes = 0;
  Digest payload_digest;
};

// All of these open the directory for themselves: they never make it, and warn of nothing. One that is refused or
// cannot be listed is an Error with MGEMM_IO; none at all is an empty one.

/// Every entry, most recently used first. Reads and checks each of them whole; changes nothing.
std::vector<EntryInfo> list_entries(const Store& store);

/// What became of entries that were to go. One that somebody else removed first counts as neither.
struct Removal {
  std::uint64_t removed = 0;
  std::uint64_t bytes = 0;   // of those
  std::uint64_t failed = 0;  // could not be removed
};

struct Verification {
  std::uint64_t sound = 0;
  std::vector<EntryInfo> bad;
  Removal removal;  // of the bad ones
};

/// Checks every entry; with `repair`, removes those that would not be used.
Verification verify_entries(const Store& store, bool repair);

/// Removes entries not used for `older_than`, or all, and temporaries that dead writers left. Running processes go on:
/// what they have loaded stays theirs. Files that are not the cache's are left alone.
Removal purge_entries(const Store& store, std::optional<std::chrono::seconds> older_than);

struct Totals {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, kind_count> entries_of_kind{};
  std::array<std::uint64_t, kind_count> bytes_of_kind{};
  std::uint64_t temporaries = 0;  // of writers dead or alive
  std::uint64_t others = 0;       // files that are not the cache's
  std::uint64_t cap = 0;
};

/// By names and sizes, without reading.
Totals cache_totals(const Store& store);

}  // namespace mgemm
