#include "cache/counters.hpp"

#include <cerrno>

namespace mgemm {
namespace {

constinit CacheNumbers<std::atomic<std::uint64_t>> live;

constexpr std::array<std::string_view, store_failure_count> failure_names{"no-space", "read-only", "denied", "stale",
                                                                          "io",       "too-large", "other"};

template <size_t N>
std::array<std::uint64_t, N> values_of(const std::array<std::atomic<std::uint64_t>, N>& numbers) {
  std::array<std::uint64_t, N> values{};
  for (size_t i = 0; i < N; ++i) values.at(i) = numbers.at(i).load(std::memory_order_relaxed);
  return values;
}

}  // namespace

std::string_view to_string(StoreFailure failure) { return failure_names.at(static_cast<size_t>(failure)); }

StoreFailure store_failure_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return StoreFailure::no_space;
    case EROFS:
      return StoreFailure::read_only;
    case EACCES:
    case EPERM:
      return StoreFailure::denied;
    case ESTALE:
    case ENOENT:  // the directory, or the temporary in it, is gone
      return StoreFailure::stale;
    case EIO:
      return StoreFailure::io;
    case EFBIG:
      return StoreFailure::too_large;
    default:
      return StoreFailure::other;
  }
}

CacheNumbers<std::atomic<std::uint64_t>>& live_cache_counters() noexcept { return live; }

CacheCounters cache_counters() noexcept {
  CacheCounters now;
  now.hits = values_of(live.hits);
  now.misses = live.misses;
  now.compiles = values_of(live.compiles);
  now.failed_compiles = live.failed_compiles;
  now.waits_for_threads = live.waits_for_threads;
  now.waits_for_processes = live.waits_for_processes;
  now.lock_timeouts = live.lock_timeouts;
  now.lock_failures = live.lock_failures;
  now.rejects = values_of(live.rejects);
  now.evictions = live.evictions;
  now.reaped = live.reaped;
  now.stores = live.stores;
  now.store_failures = values_of(live.store_failures);
  now.bytes_read = live.bytes_read;
  now.bytes_written = live.bytes_written;
  return now;
}

}  // namespace mgemm
