#include "cache/flight.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/log.hpp"
#include "base/per_process.hpp"
#include "cache/counters.hpp"
#include "cache/key_lock.hpp"
#include "cache/names.hpp"

namespace mgemm {
namespace {

/// One making, and what came of it. Only an atomic is waited on: a fork may copy this in any state, and there must be
/// nothing in it that is locked or cannot be destroyed then.
struct Flight {
  std::atomic<bool> has_landed{false};
  Entry entry;
  std::exception_ptr failure;
};

/// Directory, key, kind.
using FlightId = std::tuple<std::string, std::array<std::uint8_t, sizeof(Digest::bytes)>, Kind>;

struct Flights {
  std::mutex mutex;
  std::map<FlightId, std::shared_ptr<Flight>> running;
};
constinit PerProcess<Flights> flights;

struct Seat {
  std::shared_ptr<Flight> flight;
  bool is_first = false;
};

Seat board(const FlightId& id) {
  Flights& all = flights.get();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<Flight>& flight = all.running[id];
  if (flight != nullptr) return {flight, false};
  flight = std::make_shared<Flight>();
  return {flight, true};
}

void land(const FlightId& id, Flight& flight) {
  {
    // In the child of a fork in `make` this is another object, without the flight.
    Flights& all = flights.get();
    const std::lock_guard lock(all.mutex);
    const auto found = all.running.find(id);
    if (found != all.running.end() && found->second.get() == &flight) all.running.erase(found);
  }
  flight.has_landed.store(true, std::memory_order_release);
  flight.has_landed.notify_all();
}

Made made(const Digest& key, Kind kind, const std::function<Made()>& make) {
  auto& counters = live_cache_counters();
  count(counters.compiles.at(index_of(kind)));
  try {
    Made result = make();
    result.entry.key = key;
    result.entry.kind = kind;
    result.entry.payload_digest = sha256(result.entry.payload);
    return result;
  } catch (...) {
    count(counters.failed_compiles);
    throw;
  }
}

Entry make_alone(Store& store, const Digest& key, Kind kind, const std::function<Made()>& make,
                 std::chrono::milliseconds bound) {
  std::optional<KeyLock> lock;
  if (const auto directory = store.open()) {
    const auto is_there = [&] { return store.find(key, kind).entry.has_value(); };
    lock.emplace(*directory, key, kind, bound, is_there);
    // Another may have made it since this thread looked.
    if (is_there()) {
      if (auto entry = store.load(key, kind)) return *std::move(entry);
    }
  }
  Made result = made(key, kind, make);
  if (result.reason_not_to_keep.empty()) {
    store.keep(result.entry);
  } else {
    // A memo costs time at most, and only until the files have settled.
    static std::atomic<bool> has_warned{false};
    const bool is_news = kind != Kind::memo && !has_warned.exchange(true);
    const int level = is_news ? MGEMM_LOG_WARN : MGEMM_LOG_INFO;
    log(level, "{} is not kept in the cache: {}", entry_name(key, kind), result.reason_not_to_keep);
  }
  return std::move(result.entry);
}

}  // namespace

Entry make_once(Store& store, const Digest& key, Kind kind, const std::function<Made()>& make,
                std::chrono::milliseconds bound) {
  if (auto entry = store.load(key, kind)) return *std::move(entry);
  return make_missing(store, key, kind, make, bound);
}

Entry make_missing(Store& store, const Digest& key, Kind kind, const std::function<Made()>& make,
                   std::chrono::milliseconds bound) {
  const FlightId id{store.directory(), key.bytes, kind};
  const Seat seat = board(id);
  Flight& flight = *seat.flight;
  if (seat.is_first) {
    try {
      flight.entry = make_alone(store, key, kind, make, bound);
    } catch (...) {
      flight.failure = std::current_exception();
    }
    land(id, flight);
  } else {
    count(live_cache_counters().waits_for_threads);
    flight.has_landed.wait(false, std::memory_order_acquire);
  }
  if (flight.failure != nullptr) std::rethrow_exception(flight.failure);
  return flight.entry;
}

}  // namespace mgemm
