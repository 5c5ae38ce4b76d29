// One making a key among the threads of a process, and across a fork.
#include "cache/flight.hpp"

#include <atomic>
#include <barrier>
#include <latch>
#include <stdexcept>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cache/key_lock.hpp"
#include "support/cache.hpp"
#include "support/child.hpp"
#include "support/raises.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using namespace std::chrono_literals;

constexpr Kind kind = Kind::ptx;
constexpr int thread_count = 32;

std::uint64_t waits_for_threads() { return cache_counters().waits_for_threads; }

/// Holds a making until that many threads wait for it.
void wait_for_waiters(std::uint64_t before, std::uint64_t waiters) {
  if (!eventually([&] { return waits_for_threads() >= before + waiters; })) throw std::runtime_error("no waiters came");
}

template <typename Call>
void on_threads(int threads, Call call) {
  std::barrier start(threads);
  std::vector<std::thread> running;
  running.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      call(i);
    });
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace

// Catches an entry that lacks what make_once() promises, and a second making.
TEST_CASE("an entry is made once and then found", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  const Moved moved;
  for (int i = 0; i < 3; ++i) {
    const Entry entry = make_once(store, key_of(1), Kind::verdict, [] {
      Entry made;
      made.fields = {{"tag", "value"}};
      made.payload = "payload";
      return made;
    });
    CHECK(entry.key == key_of(1));
    CHECK(entry.kind == Kind::verdict);
    CHECK(entry.payload == "payload");
    CHECK(entry.payload_digest == sha256("payload"));
    CHECK(entry.fields.size() == 1);
  }
  CHECK(moved.compiles() == 1);
  CHECK(moved.hits() == 2);
  CHECK(moved.misses() == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.stores; }) == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.bytes_written; }) > 0);
  CHECK(2 * moved.by([](const CacheCounters& c) { return c.bytes_written; }) ==
        moved.by([](const CacheCounters& c) { return c.bytes_read; }));
}

// Catches threads that make the same entry side by side, with a cache and without.
TEST_CASE("32 threads on one key make it once", "[cache]") {
  const TempFolder folder;
  for (const std::string& directory : {(folder.path() / "cache").string(), std::string()}) {
    CAPTURE(directory);
    Store store(directory);
    Random random(fresh_seed());
    Entry entry = recognisable(key_of(random()), kind, random);
    entry.payload_digest = sha256(entry.payload);
    const Moved moved;
    const std::uint64_t before = waits_for_threads();
    std::atomic<int> makes{0};
    std::atomic<int> right{0};
    on_threads(thread_count, [&](int) {
      const Entry got = make_once(store, entry.key, kind, [&] {
        ++makes;
        wait_for_waiters(before, thread_count - 1);
        return entry;
      });
      if (same_entry(got, entry) && got.payload_digest == entry.payload_digest) ++right;
    });
    CHECK(makes == 1);
    CHECK(right == thread_count);
    CHECK(moved.compiles() == 1);
    CHECK(moved.all_rejects() == 0);
  }
}

// Catches keys that wait for each other: eight makings that can only end together.
TEST_CASE("different keys are made side by side", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  constexpr int keys = 8;
  std::latch all_making(keys);
  std::atomic<int> makes{0};
  std::atomic<int> right{0};
  on_threads(thread_count, [&](int i) {
    const Digest key = key_of(static_cast<std::uint64_t>(i % keys));
    const Entry got = make_once(store, key, kind, [&] {
      ++makes;
      all_making.arrive_and_wait();
      Random random(1);
      return recognisable(key, kind, random);
    });
    if (is_recognised(key, got.payload)) ++right;
  });
  CHECK(makes == keys);
  CHECK(right == thread_count);
}

// Catches a failure that reaches only one, or that is remembered.
TEST_CASE("a failure reaches all who wait and is forgotten", "[cache]") {
  const TempFolder folder;
  for (const std::string& directory : {(folder.path() / "cache").string(), std::string()}) {
    CAPTURE(directory);
    Store store(directory);
    const Moved moved;
    const std::uint64_t before = waits_for_threads();
    std::atomic<int> makes{0};
    std::atomic<int> told{0};
    on_threads(thread_count, [&](int) {
      try {
        make_once(store, key_of(1), kind, [&]() -> Entry {
          ++makes;
          wait_for_waiters(before, thread_count - 1);
          throw Error(MGEMM_COMPILE, "it does not compile", 6);
        });
      } catch (const Error& error) {
        if (error.status() == MGEMM_COMPILE && error.driver_code() == 6) ++told;
      }
    });
    CHECK(makes == 1);
    CHECK(told == thread_count);
    CHECK(moved.by([](const CacheCounters& c) { return c.failed_compiles; }) == 1);
    CHECK_FALSE(store.find(key_of(1), kind).entry);
    CHECK(make_once(store, key_of(1), kind, [] { return Entry{.payload = "second"}; }).payload == "second");
  }
}

// Catches a lock that does not exclude, that outlives its holder, or that is taken by way of another key.
TEST_CASE("the lock of a key", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  const auto opened = store.open();
  const PrivateDirectory& directory = *opened;
  const auto never = [] { return false; };
  set_log(MGEMM_LOG_OFF, nullptr, nullptr);
  {
    KeyLock first(directory, key_of(1), kind, 1s, never);
    CHECK(first.state() == KeyLock::State::held);
    CHECK(KeyLock(directory, key_of(1), kind, 20ms, never).state() == KeyLock::State::timed_out);
    CHECK(KeyLock(directory, key_of(1), kind, 0ms, never).state() == KeyLock::State::timed_out);
    CHECK(KeyLock(directory, key_of(1), kind, 10s, [] { return true; }).state() == KeyLock::State::not_needed);
    CHECK(KeyLock(directory, key_of(1), Kind::memo, 0ms, never).state() == KeyLock::State::held);
    CHECK(KeyLock(directory, key_of(2), kind, 0ms, never).state() == KeyLock::State::held);
    // A child of its holder does not let go of it, and its end neither.
    CHECK(in_fork([&] {
            first.~KeyLock();  // as when the child comes out of make()
            return 0;
          }) == 0);
    CHECK(KeyLock(directory, key_of(1), kind, 0ms, never).state() == KeyLock::State::timed_out);
  }
  CHECK(KeyLock(directory, key_of(1), kind, 0ms, never).state() == KeyLock::State::held);
  // Somebody cleans up: whoever waits goes over to the new file.
  {
    const KeyLock orphan(directory, key_of(1), kind, 0ms, never);
    std::filesystem::remove(folder.path() / "cache" / "lock");
    CHECK(KeyLock(directory, key_of(1), kind, 0ms, never).state() == KeyLock::State::held);
  }
  std::filesystem::remove(folder.path() / "cache" / "lock");
  std::filesystem::create_directory(folder.path() / "cache" / "lock");
  CHECK(KeyLock(directory, key_of(1), kind, 10s, never).state() == KeyLock::State::unavailable);
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  const Moved moved;
  CHECK(make_once(store, key_of(1), kind, [] { return Entry{.payload = "x"}; }).payload == "x");
  CHECK(moved.by([](const CacheCounters& c) { return c.lock_failures; }) == 1);
  CHECK(store.load(key_of(1), kind));
}

// Catches a child that waits for a thread it does not have: the parent's thread is making the key when it forks.
TEST_CASE("the child of a fork does not wait for its parent's threads", "[cache]") {
  if (thread_sanitizer) MGEMM_SKIP("the thread sanitizer cannot follow a fork of several threads");
  const TempFolder folder;
  for (const std::string& directory : {(folder.path() / "cache").string(), std::string()}) {
    CAPTURE(directory);
    Store store(directory);
    std::latch is_making(1);
    std::latch may_end(1);
    std::thread maker([&] {
      make_once(store, key_of(1), kind, [&] {
        is_making.count_down();
        may_end.wait();
        return Entry{.payload = "parent's"};
      });
    });
    is_making.wait();
    std::thread waiter([&] { make_once(store, key_of(1), kind, [] { return Entry{.payload = "never"}; }); });
    const int code = in_fork([&] {
      set_log(MGEMM_LOG_OFF, nullptr, nullptr);
      const auto start = std::chrono::steady_clock::now();
      const Entry entry = make_once(
          store, key_of(1), kind, [] { return Entry{.payload = "child's"}; }, 200ms);
      if (entry.payload != "child's") return 1;
      if (std::chrono::steady_clock::now() - start > 20s) return 2;
      return 0;
    });
    CHECK(code == 0);
    may_end.count_down();
    maker.join();
    waiter.join();
  }
}

// Catches a fork inside make() whose child cannot finish, or takes its parent's lock away.
TEST_CASE("a fork while making", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  const pid_t parent = getpid();
  pid_t child = 0;
  Entry entry;
  bool is_still_locked = false;
  try {
    entry = make_once(store, key_of(1), kind, [&] {
      child = fork();
      if (child == 0) throw std::runtime_error("the child gives up");
      int status = 0;
      waitpid(child, &status, 0);
      set_log(MGEMM_LOG_OFF, nullptr, nullptr);
      is_still_locked =
          KeyLock(*store.open(), key_of(1), kind, 0ms, [] { return false; }).state() == KeyLock::State::timed_out;
      set_log(MGEMM_LOG_WARN, nullptr, nullptr);
      return Entry{.payload = WIFEXITED(status) && WEXITSTATUS(status) == 3 ? "parent's" : "the child failed"};
    });
  } catch (const std::runtime_error&) {
    if (getpid() != parent) _exit(3);
    throw;
  }
  CHECK(entry.payload == "parent's");
  CHECK(is_still_locked);
}
