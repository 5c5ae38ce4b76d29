#include "api/cache_counters.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cache/counters.hpp"
#include "compile/nvrtc_identity.hpp"
#include "compile/nvrtc_load.hpp"

namespace mgemm {
namespace {

// The public enumerators are the places of the numbers: the internal value, from 1.
template <auto Public, auto Internal, int from = 0>
constexpr bool same = static_cast<int>(Public) == static_cast<int>(Internal) + from;

static_assert(same<MGEMM_CACHE_PTX, Kind::ptx> && same<MGEMM_CACHE_MACHINE_CODE, Kind::machine_code> &&
              same<MGEMM_CACHE_MEMO, Kind::memo> && same<MGEMM_CACHE_VERDICT, Kind::verdict>);
static_assert(
    same<MGEMM_CACHE_REJECT_TRUNCATED, Reject::truncated> && same<MGEMM_CACHE_REJECT_OVERLONG, Reject::overlong> &&
    same<MGEMM_CACHE_REJECT_FOREIGN, Reject::foreign> && same<MGEMM_CACHE_REJECT_VERSION, Reject::version> &&
    same<MGEMM_CACHE_REJECT_MALFORMED, Reject::malformed> && same<MGEMM_CACHE_REJECT_DAMAGED, Reject::damaged> &&
    same<MGEMM_CACHE_REJECT_WRONG_KEY, Reject::wrong_key> && same<MGEMM_CACHE_REJECT_NOT_A_FILE, Reject::not_a_file> &&
    same<MGEMM_CACHE_REJECT_HARD_LINKED, Reject::hard_linked> && same<MGEMM_CACHE_REJECT_OWNER, Reject::owner> &&
    same<MGEMM_CACHE_REJECT_MODE, Reject::mode> && same<MGEMM_CACHE_REJECT_UNREADABLE, Reject::unreadable>);
static_assert(same<MGEMM_CACHE_FAILURE_NO_SPACE, StoreFailure::no_space, 1> &&
              same<MGEMM_CACHE_FAILURE_READ_ONLY, StoreFailure::read_only, 1> &&
              same<MGEMM_CACHE_FAILURE_DENIED, StoreFailure::denied, 1> &&
              same<MGEMM_CACHE_FAILURE_STALE, StoreFailure::stale, 1> &&
              same<MGEMM_CACHE_FAILURE_IO, StoreFailure::io, 1> &&
              same<MGEMM_CACHE_FAILURE_TOO_LARGE, StoreFailure::too_large, 1> &&
              same<MGEMM_CACHE_FAILURE_OTHER, StoreFailure::other, 1>);
// Every internal value has a public name and a place.
static_assert(same<MGEMM_CACHE_VERDICT, kind_count> && same<MGEMM_CACHE_REJECT_UNREADABLE, reject_count, -1> &&
              same<MGEMM_CACHE_FAILURE_OTHER, store_failure_count>);
static_assert(kind_count < MGEMM_CACHE_KINDS && reject_count <= MGEMM_CACHE_REJECTS &&
              store_failure_count < MGEMM_CACHE_FAILURES);

struct Number {
  std::string_view name;
  std::uint64_t CacheCounters::*internal;
  std::uint64_t mgemm_cache_counters::*shown;
};

using Internal = CacheCounters;
using Shown = mgemm_cache_counters;
constexpr std::array<Number, 11> all_numbers{
    {{"misses", &Internal::misses, &Shown::misses},
     {"failed_compiles", &Internal::failed_compiles, &Shown::failed_compiles},
     {"waits_for_threads", &Internal::waits_for_threads, &Shown::waits_for_threads},
     {"waits_for_processes", &Internal::waits_for_processes, &Shown::waits_for_processes},
     {"lock_timeouts", &Internal::lock_timeouts, &Shown::lock_timeouts},
     {"lock_failures", &Internal::lock_failures, &Shown::lock_failures},
     {"evictions", &Internal::evictions, &Shown::evictions},
     {"reaped", &Internal::reaped, &Shown::reaped},
     {"stores", &Internal::stores, &Shown::stores},
     {"bytes_read", &Internal::bytes_read, &Shown::bytes_read},
     {"bytes_written", &Internal::bytes_written, &Shown::bytes_written}}};

/// The public numbers of one array, from 1, under the names of the values from `first` on.
template <typename Name>
void write_named(JsonWriter& json, const std::uint64_t* shown, size_t count, Name first) {
  json.object([&] {
    for (size_t i = 0; i < count; ++i) {
      json.member(to_string(static_cast<Name>(static_cast<size_t>(first) + i)), shown[i + 1]);
    }
  });
}

}  // namespace

mgemm_cache_counters counters_of_process() {
  const CacheCounters now = cache_counters();
  mgemm_cache_counters shown{};
  shown.struct_size = sizeof shown;
  for (const Number& number : all_numbers) shown.*number.shown = now.*number.internal;
  std::ranges::copy(now.hits, shown.hits + 1);
  std::ranges::copy(now.compiles, shown.compiles + 1);
  std::ranges::copy(now.rejects, shown.rejects);  // its element 0 is for what is sound
  std::ranges::copy(now.store_failures, shown.store_failures + 1);
  shown.nvrtc_loads = nvrtc_loads();
  shown.nvrtc_hashes = nvrtc_hashes();
  return shown;
}

void write_counters(JsonWriter& json, const mgemm_cache_counters& counters) {
  json.object([&] {
    json.member("hits", [&] { write_named(json, counters.hits, kind_count, Kind::ptx); });
    json.member("compiles", [&] { write_named(json, counters.compiles, kind_count, Kind::ptx); });
    for (const Number& number : all_numbers) json.member(number.name, counters.*number.shown);
    json.member("rejects", [&] { write_named(json, counters.rejects, reject_count - 1, Reject::truncated); });
    json.member("store_failures",
                [&] { write_named(json, counters.store_failures, store_failure_count, StoreFailure::no_space); });
    json.member("nvrtc_loads", counters.nvrtc_loads);
    json.member("nvrtc_hashes", counters.nvrtc_hashes);
  });
}

}  // namespace mgemm
