// Every call of the operating system made to fail in turn.
#include <cerrno>

#include "cache/flight.hpp"
#include "cache/inspect.hpp"
#include "support/cache.hpp"
#include "support/faulty_calls.hpp"
#include "support/quiet.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr Kind kind = Kind::ptx;
constexpr std::chrono::milliseconds short_bound{5};

struct Case {
  const char* name;
  bool is_warm;     // an entry is there
  bool is_damaged;  // and has to be replaced
  bool is_due;      // and was used long ago
};

constexpr std::array<Case, 4> cases{{{"cold", false, false, false},
                                     {"warm", true, false, false},
                                     {"warm, to be touched", true, false, true},
                                     {"damaged", true, true, false}}};

void prepare(const Case& what, const std::filesystem::path& cache, const Entry& entry) {
  if (!what.is_warm) return;
  const FaultyCalls calls({.without_sync = true});
  Store store(cache.string());
  REQUIRE(store.keep(entry));
  const auto file = cache / entry_name(entry.key, kind);
  if (what.is_damaged) write_file(file, "damaged");
  if (what.is_due) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - std::chrono::hours(2));
  }
}

/// Without faults all is well again: the entry is served or made, nothing damaged and nothing left over stays.
void check_healed(const std::filesystem::path& cache, const Entry& entry) {
  const FaultyCalls calls({.without_sync = true});
  Store store(cache.string());
  REQUIRE(same_entry(make_once(store, entry.key, kind, [&] { return entry; }), entry));
  REQUIRE(store.load(entry.key, kind));
  REQUIRE(store.keep(entry));
  REQUIRE(verify_entries(store, false).bad.empty());
  REQUIRE(temporaries_in(cache) == 0);
}

}  // namespace

// Catches an error path that throws, loops, gives wrong bytes, or leaves something that does not heal.
TEST_CASE("whichever call fails, the result is right", "[cache]") {
  const Quiet quiet;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Entry entry = recognisable(key_of(1), kind, random);
  for (const Case& what : cases) {
    for (const int error : {EIO, ENOSPC, ESTALE, EACCES, ENOENT, EAGAIN, ENOLCK}) {
      for (const bool for_ever : {false, true}) {
        std::int64_t number = 1;
        for (bool is_past_the_last = false; !is_past_the_last; ++number) {
          CAPTURE(what.name, error, number, for_ever);
          const TempFolder folder;
          const auto cache = folder.path() / "cache";
          prepare(what, cache, entry);
          int makes = 0;
          {
            const FaultyCalls faults({.failing = number, .error = error, .for_ever = for_ever, .without_sync = true});
            Store store(cache.string());
            const auto make = [&] {
              ++makes;
              return Entry(entry);
            };
            REQUIRE(same_entry(make_once(store, entry.key, kind, make, short_bound), entry));
            is_past_the_last = FaultyCalls::calls_made() < number;
          }
          REQUIRE(makes <= 1);
          check_healed(cache, entry);
        }
        CHECK(number > (what.is_warm && !what.is_damaged ? 6 : 20));
      }
    }
  }
}

// Catches load, keep or remove that fail otherwise than by a miss; they are noexcept, so a throw would end the test.
TEST_CASE("load, keep and remove survive any failing call", "[cache]") {
  const Quiet quiet;
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  const Entry other = recognisable(key_of(2), kind, random);
  for (const int error : {EIO, EDQUOT}) {
    std::int64_t number = 1;
    for (bool is_past_the_last = false; !is_past_the_last; ++number) {
      CAPTURE(error, number);
      const TempFolder folder;
      const auto cache = folder.path() / "cache";
      prepare(cases[1], cache, entry);
      {
        const FaultyCalls faults({.failing = number, .error = error, .without_sync = true});
        Store store(cache.string());
        const auto loaded = store.load(entry.key, kind);
        REQUIRE((!loaded || same_entry(*loaded, entry)));
        const bool kept = store.keep(other);
        const bool removed = store.remove(entry.key, kind);
        is_past_the_last = FaultyCalls::calls_made() < number;
        if (is_past_the_last) REQUIRE((loaded && kept && removed));
      }
      check_healed(cache, entry);
    }
  }
}

// Catches a signal that is taken for a failure.
TEST_CASE("interrupted calls are repeated", "[cache]") {
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  for (const Case& what : cases) {
    std::int64_t number = 1;
    for (bool is_past_the_last = false; !is_past_the_last; ++number) {
      CAPTURE(what.name, number);
      const TempFolder folder;
      const auto cache = folder.path() / "cache";
      prepare(what, cache, entry);
      const Moved moved;
      int makes = 0;
      {
        const FaultyCalls faults({.failing = number, .error = EINTR, .without_sync = true});
        Store store(cache.string());
        const auto make = [&] {
          ++makes;
          return Entry(entry);
        };
        REQUIRE(same_entry(make_once(store, entry.key, kind, make), entry));
        is_past_the_last = FaultyCalls::calls_made() < number;
      }
      REQUIRE(makes == (what.is_warm && !what.is_damaged ? 0 : 1));
      REQUIRE(moved.all_failures() == 0);
      Store store(cache.string());
      REQUIRE(store.load(entry.key, kind));
    }
  }
}

// Catches loops that take one read or write for all of it.
TEST_CASE("short reads and writes are completed", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  Random random(fresh_seed());
  for (const size_t most : {size_t{1}, size_t{7}, size_t{4096}}) {
    const FaultyCalls faults({.most_at_once = most});
    const Entry entry = recognisable(key_of(most), kind, random, 3000);
    CHECK(store.keep(entry));
    const auto loaded = store.load(entry.key, kind);
    CHECK((loaded && same_entry(*loaded, entry)));
  }
}
