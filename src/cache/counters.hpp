#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "cache/entry.hpp"

namespace mgemm {

/// Why something was not kept.
enum class StoreFailure : std::uint8_t { no_space, read_only, denied, stale, io, too_large, other };
constexpr size_t store_failure_count = 7;

/// For example "no-space".
std::string_view to_string(StoreFailure failure);
StoreFailure store_failure_of(int error) noexcept;

/// What the cache has done in this process since it started; the child of a fork goes on from its parent's numbers.
template <typename Number>
struct CacheNumbers {
  std::array<Number, kind_count> hits{};      // entries handed out from the directory
  Number misses{};                            // look-ups that found nothing usable at first
  std::array<Number, kind_count> compiles{};  // started, whatever came of them
  Number failed_compiles{};
  Number waits_for_threads{};    // for a result that another thread was making
  Number waits_for_processes{};  // for the lock that another process, or another open cache, had
  Number lock_timeouts{};        // waits that ended at their bound
  Number lock_failures{};        // locks that the file system would not give
  std::array<Number, reject_count> rejects{};
  Number evictions{};
  Number reaped{};  // temporaries that dead writers had left
  Number stores{};
  std::array<Number, store_failure_count> store_failures{};
  Number bytes_read{};
  Number bytes_written{};
};

using CacheCounters = CacheNumbers<std::uint64_t>;

CacheCounters cache_counters() noexcept;

/// The live ones, for the parts of the cache.
CacheNumbers<std::atomic<std::uint64_t>>& live_cache_counters() noexcept;

inline void count(std::atomic<std::uint64_t>& number, std::uint64_t more = 1) noexcept {
  number.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace mgemm
