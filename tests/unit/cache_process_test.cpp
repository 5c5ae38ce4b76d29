// Several processes on one directory. Each is this binary again, with one of the hidden test cases below.
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/log.hpp"
#include "cache/flight.hpp"
#include "cache/inspect.hpp"
#include "support/cache.hpp"
#include "support/child.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using namespace std::chrono_literals;
using std::filesystem::path;

constexpr Kind kind = Kind::ptx;
constexpr std::uint64_t key_count = 4;

struct Folders {
  TempFolder folder;
  path cache = folder.path() / "cache";
  path notes = folder.path();
  std::vector<std::string> variables{"MGEMM_TEST_CACHE=" + cache.string(), "MGEMM_TEST_NOTES=" + notes.string()};
};

/// A note that one process leaves for another; it appears whole.
void note(const std::string& name, const std::string& text) {
  const path file = path(given("MGEMM_TEST_NOTES")) / name;
  write_file(file.string() + ".part", text);
  std::filesystem::rename(file.string() + ".part", file);
}

bool wait_for_note(const path& notes, const std::string& name) {
  return eventually([&] { return std::filesystem::exists(notes / name); });
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

std::chrono::duration<double> time_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - start;
}

}  // namespace

TEST_CASE("process: make every key once", "[.]") {
  Store store(given("MGEMM_TEST_CACHE"));
  if (!eventually([] { return std::filesystem::exists(path(given("MGEMM_TEST_NOTES")) / "start"); })) std::exit(3);
  Random random(fresh_seed());
  const std::uint64_t first = random() % key_count;  // they do not all ask in the same order
  for (std::uint64_t i = 0; i < key_count; ++i) {
    const Digest key = key_of((first + i) % key_count);
    const Entry entry = make_once(store, key, kind, [&] {
      std::this_thread::sleep_for(100ms);
      return recognisable(key, kind, random);
    });
    if (!is_recognised(key, entry.payload)) std::exit(4);
  }
  const CacheCounters counters = cache_counters();
  std::ostringstream report;
  report << sum(counters.compiles) << ' ' << sum(counters.hits) << ' ' << counters.waits_for_processes << ' '
         << sum(counters.rejects) + sum(counters.store_failures) + counters.lock_timeouts + counters.lock_failures;
  note("report-" + std::to_string(getpid()), report.str());
}

// Catches processes that make the same entry side by side, and a cold start that fails for some of them.
TEST_CASE("16 processes on a cold directory make each key once", "[cache]") {
  Folders f;
  constexpr int processes = 16;
  std::vector<Child> children;
  children.reserve(processes);
  for (int i = 0; i < processes; ++i) children.emplace_back("process: make every key once", f.variables);
  std::this_thread::sleep_for(200ms);
  write_file(f.notes / "start", "");
  for (Child& child : children) CHECK(child.wait() == 0);
  std::uint64_t compiles = 0;
  std::uint64_t hits = 0;
  std::uint64_t waits = 0;
  std::uint64_t troubles = 0;
  int reports = 0;
  for (const auto& file : std::filesystem::directory_iterator(f.notes)) {
    if (!file.path().filename().string().starts_with("report-")) continue;
    std::istringstream report(read_file(file.path()));
    std::array<std::uint64_t, 4> numbers{};
    for (std::uint64_t& number : numbers) report >> number;
    REQUIRE(report);
    compiles += numbers[0];
    hits += numbers[1];
    waits += numbers[2];
    troubles += numbers[3];
    ++reports;
  }
  CHECK(reports == processes);
  CHECK(compiles == key_count);
  CHECK(hits == processes * key_count - key_count);
  CHECK(waits > 0);
  CHECK(troubles == 0);
  Store store(f.cache.string());
  CHECK(verify_entries(store, false).sound == key_count);
  CHECK(temporaries_in(f.cache) == 0);
}

TEST_CASE("process: write for ever", "[.]") {
  Store store(given("MGEMM_TEST_CACHE"));
  Random random(fresh_seed());
  note("writing-" + given("MGEMM_TEST_NUMBER"), "");
  for (;;) store.keep(recognisable(key_of(random() % key_count), kind, random, 400000));
}

// Catches an entry that is seen half-written, one that vanishes while it is replaced, and leftovers that stay.
TEST_CASE("writers killed at any point leave readers unharmed", "[cache]") {
  Folders f;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  Store store(f.cache.string());
  for (std::uint64_t i = 0; i < key_count; ++i) REQUIRE(store.keep(recognisable(key_of(i), kind, random)));
  const Moved moved;
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> missing{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> reads{0};
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      Random own(seed + i);
      while (!is_over) {
        const Digest key = key_of(own() % key_count);
        const auto entry = store.load(key, kind);
        if (!entry) {
          ++missing;
        } else if (!is_recognised(key, entry->payload)) {
          ++wrong;
        }
        ++reads;
        std::this_thread::sleep_for(100us);
      }
    });
  }
  constexpr int kills = 200;
  int started = 0;
  std::int64_t most_temporaries = 0;
  for (int i = 0; i < kills; ++i) {
    std::vector<std::string> variables = f.variables;
    variables.push_back("MGEMM_TEST_NUMBER=" + std::to_string(i));
    Child writer("process: write for ever", variables);
    if (wait_for_note(f.notes, "writing-" + std::to_string(i))) ++started;
    std::this_thread::sleep_for(std::chrono::microseconds(uniform(random, 0, 20000)));
    writer.kill_now();
    most_temporaries = std::max(most_temporaries, temporaries_in(f.cache));
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(started == kills);
  CHECK(reads > kills);
  CHECK(missing == 0);
  CHECK(wrong == 0);
  CHECK(moved.all_rejects() == 0);
  CHECK(most_temporaries > 0);  // or no writer was caught in the middle
  std::cout << reads << " reads, at most " << most_temporaries << " temporaries left at a time\n";

  CHECK(verify_entries(store, false).sound == key_count);
  CHECK(store.keep(recognisable(key_of(0), kind, random)));
  CHECK(temporaries_in(f.cache) == 0);
}

TEST_CASE("process: hold the lock", "[.]") {
  Store store(given("MGEMM_TEST_CACHE"));
  const bool forks = given("MGEMM_TEST_FORKS") == "1";
  make_once(store, key_of(1), kind, [&]() -> Entry {
    const pid_t child = forks ? fork() : -1;
    if (child != 0) note("holding", std::to_string(child));
    sleep_for_ever();
  });
}

// Catches a wait for a holder that is dead.
TEST_CASE("a killed lock holder holds nobody up", "[cache]") {
  Folders f;
  f.variables.emplace_back("MGEMM_TEST_FORKS=0");
  Child holder("process: hold the lock", f.variables);
  REQUIRE(wait_for_note(f.notes, "holding"));
  Store store(f.cache.string());
  const Moved moved;
  std::thread killer([&] {
    std::this_thread::sleep_for(300ms);
    holder.kill_now();
  });
  Entry entry;
  const auto seconds = time_of([&] {
    entry = make_once(
        store, key_of(1), kind, [] { return Entry{.payload = "made"}; }, 60s);
  });
  killer.join();
  CHECK(entry.payload == "made");
  CHECK(seconds < 30s);
  CHECK(moved.timeouts() == 0);
  CHECK(moved.compiles() == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.waits_for_processes; }) == 1);
  CHECK(store.load(key_of(1), kind));
}

// Catches a wait without end for a lock that a dead holder's child has inherited.
TEST_CASE("a lock kept by a dead holder's child costs only the bound", "[cache]") {
  Folders f;
  f.variables.emplace_back("MGEMM_TEST_FORKS=1");
  Child holder("process: hold the lock", f.variables);
  REQUIRE(wait_for_note(f.notes, "holding"));
  const auto grandchild = static_cast<pid_t>(std::stol(read_file(f.notes / "holding")));
  REQUIRE(grandchild > 0);
  holder.kill_now();
  Store store(f.cache.string());
  const Moved moved;
  set_log(MGEMM_LOG_OFF, nullptr, nullptr);
  Entry entry;
  const auto seconds = time_of([&] {
    entry = make_once(
        store, key_of(1), kind, [] { return Entry{.payload = "made"}; }, 700ms);
  });
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  kill(grandchild, SIGKILL);
  CHECK(entry.payload == "made");
  CHECK(seconds >= 700ms);
  CHECK(seconds < 20s);
  CHECK(moved.timeouts() == 1);
  CHECK(moved.compiles() == 1);
  CHECK(store.load(key_of(1), kind));
}

// Catches a lock that outlives a making because a child forked meanwhile has its file open.
TEST_CASE("a child forked while making does not keep the lock", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  pid_t child = -1;
  CHECK_THROWS_AS(make_once(store, key_of(1), kind,
                            [&]() -> Entry {
                              child = fork();
                              if (child == 0) sleep_for_ever();
                              throw std::runtime_error("it failed");
                            }),
                  std::runtime_error);
  REQUIRE(child > 0);
  const Moved moved;
  const Entry entry = make_once(
      store, key_of(1), kind, [] { return Entry{.payload = "made"}; }, 500ms);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(entry.payload == "made");
  CHECK(moved.timeouts() == 0);
  CHECK(moved.by([](const CacheCounters& c) { return c.waits_for_processes; }) == 0);
}
