// The cap, and who is removed to keep it.
#include "cache/eviction.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "cache/inspect.hpp"
#include "support/cache.hpp"
#include "support/faulty_calls.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using std::filesystem::path;

constexpr Kind kind = Kind::ptx;

Entry of_size(std::uint64_t number, size_t bytes) {
  Entry entry{key_of(number), kind, {}, std::string(bytes - entry_head_bytes, 'x'), {}};
  return entry;
}

void set_used(const path& cache, std::uint64_t number, std::int64_t seconds_ago) {
  const std::array<struct timespec, 2> times{{{0, UTIME_OMIT}, {std::time(nullptr) - seconds_ago, 0}}};
  REQUIRE(utimensat(AT_FDCWD, (cache / entry_name(key_of(number), kind)).c_str(), times.data(), 0) == 0);
}

std::int64_t seconds_since_use(const path& cache, std::uint64_t number) {
  struct stat status {};
  REQUIRE(stat((cache / entry_name(key_of(number), kind)).c_str(), &status) == 0);
  return std::time(nullptr) - status.st_mtim.tv_sec;
}

bool has(Store& store, std::uint64_t number) { return store.find(key_of(number), kind).entry.has_value(); }

}  // namespace

// Catches the wrong order, a use that does not count, and a cap that is kept by removing too much.
TEST_CASE("the least recently used entries go first", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string(), {.cap = 5000});
  for (std::uint64_t i = 0; i < 5; ++i) {
    REQUIRE(store.keep(of_size(i, 1000)));
    set_used(cache, i, 100000 - static_cast<std::int64_t>(i));
  }
  REQUIRE(store.load(key_of(0), kind));  // the oldest is used
  const Moved moved;
  REQUIRE(store.keep(of_size(5, 1500)));
  CHECK(moved.by([](const CacheCounters& c) { return c.evictions; }) == 2);
  CHECK(has(store, 0));
  CHECK_FALSE(has(store, 1));
  CHECK_FALSE(has(store, 2));
  CHECK(has(store, 3));
  CHECK(has(store, 4));
  CHECK(has(store, 5));
  CHECK(cache_totals(store).bytes == 4500);
  // An entry as large as the cap stays alone.
  REQUIRE(store.keep(of_size(6, 5000)));
  CHECK(has(store, 6));
  CHECK(cache_totals(store).entries == 1);
}

// Catches a write at every hit, a use that is never noted, and a wrong clock that keeps an entry for ever.
TEST_CASE("a use is noted once an hour", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string(), {.cap = 2500});
  REQUIRE(store.keep(of_size(1, 1000)));
  set_used(cache, 1, 1800);
  REQUIRE(store.load(key_of(1), kind));
  CHECK(seconds_since_use(cache, 1) >= 1800);
  set_used(cache, 1, 7200);
  REQUIRE(store.load(key_of(1), kind));
  CHECK(seconds_since_use(cache, 1) < 60);
  set_used(cache, 1, -7200);
  REQUIRE(store.load(key_of(1), kind));
  CHECK(seconds_since_use(cache, 1) > -60);
  // find() leaves no trace.
  set_used(cache, 1, 7200);
  REQUIRE(has(store, 1));
  CHECK(seconds_since_use(cache, 1) >= 7200);
  // A time in the future is as good as none.
  REQUIRE(store.keep(of_size(2, 1000)));
  set_used(cache, 1, -1000000);
  set_used(cache, 2, 500000);
  REQUIRE(store.keep(of_size(3, 1000)));
  CHECK_FALSE(has(store, 1));
  CHECK(has(store, 2));
}

// Catches a directory that grows, or a scan that slows down every store: 2,000 entries, eight times what fits.
TEST_CASE("the cap holds under 2,000 entries", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  constexpr std::uint64_t cap = std::uint64_t{512} << 10U;
  Store store(cache.string(), {.cap = cap});
  const FaultyCalls calls({.without_sync = true});
  Random random(fresh_seed());
  write_file(folder.path() / "others", "x");
  for (std::uint64_t i = 0; i < 2000; ++i) {
    REQUIRE(store.keep(of_size(i, static_cast<size_t>(uniform(random, 200, 4000)))));
    if (i % 50 == 0) REQUIRE(cache_totals(store).bytes <= cap);
  }
  const Totals totals = cache_totals(store);
  CHECK(totals.bytes <= cap);
  CHECK(totals.bytes > cap - 4000);
  CHECK(totals.temporaries == 0);
  CHECK(has(store, 1999));
  CHECK_FALSE(has(store, 0));
}

// Catches files of others that are deleted to make room.
TEST_CASE("eviction touches nothing but entries", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string(), {.cap = 2000});
  REQUIRE(store.keep(of_size(1, 1000)));
  write_file(cache / "README", std::string(100000, 'x'));
  write_file(cache / "lock", "");
  for (std::uint64_t i = 2; i < 6; ++i) REQUIRE(store.keep(of_size(i, 1000)));
  CHECK(std::filesystem::exists(cache / "README"));
  CHECK(std::filesystem::exists(cache / "lock"));
  CHECK(cache_totals(store).entries == 2);
  CHECK(cache_totals(store).others == 1);
}

// Catches a reader that fails, or gets bad bytes, because what it reads is evicted, replaced or deleted.
TEST_CASE("readers are never hurt by eviction", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string(), {.cap = 100000});
  const FaultyCalls calls({.without_sync = true});
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  const Moved moved;
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::atomic<int> found{0};
  constexpr std::uint64_t keys = 50;
  std::vector<std::thread> threads;
  for (std::uint64_t reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&, reader] {
      Random random(seed + reader);
      while (!is_over) {
        const Digest key = key_of(random() % keys);
        const auto entry = store.load(key, kind);
        if (entry && !is_recognised(key, entry->payload)) ++wrong;
        if (entry) ++found;
      }
    });
  }
  for (std::uint64_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(seed + 100 + writer);
      for (int i = 0; i < 1000; ++i) {
        const Digest key = key_of(random() % keys);
        if (!store.keep(recognisable(key, kind, random, 6000))) ++wrong;
        if (i % 10 == 0) store.remove(key_of(random() % keys));
      }
    });
  }
  threads[3].join();
  threads[4].join();
  is_over = true;
  for (size_t i = 0; i < 3; ++i) threads[i].join();
  CHECK(wrong == 0);
  CHECK(found > 0);
  CHECK(moved.all_rejects() == 0);
  CHECK(moved.by([](const CacheCounters& c) { return c.evictions; }) > 0);
}
