// How an entry gets into its place: which calls are made, in which order.
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "support/cache.hpp"
#include "support/quiet.hpp"
#include "support/recorded_calls.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr Kind kind = Kind::ptx;

struct Folder {
  TempFolder folder;
  Store store{(folder.path() / "cache").string()};
  Random random{fresh_seed()};
  Entry entry = recognisable(key_of(1), kind, random);
  std::string name = entry_name(entry.key, kind);

  Folder() { REQUIRE(store.open() != nullptr); }
  bool is_found() {
    const auto found = store.load(entry.key, kind);
    return found && same_entry(*found, entry);
  }
};

/// The place of the only call that fits.
template <typename Fits>
size_t place_of(const std::vector<OsCall>& calls, Fits fits) {
  const auto found = std::ranges::find_if(calls, fits);
  REQUIRE(found != calls.end());
  CHECK(std::count_if(calls.begin(), calls.end(), fits) == 1);
  return static_cast<size_t>(found - calls.begin());
}

/// The same among the calls on one file.
size_t place_of(const std::vector<OsCall>& calls, const char* what, std::int64_t file) {
  CAPTURE(what, file);
  return place_of(calls, [&](const OsCall& call) { return call.what == what && call.file == file; });
}

}  // namespace

// Catches a file that another could have made before or can read, one that a reaper takes for a dead writer's, a rename
// before the bytes are on the disk or one that a crash undoes, and a moment without the old entry.
TEST_CASE("an entry is made, locked, written, synced and renamed, in this order", "[cache]") {
  Folder f;
  const int directory = f.store.open()->descriptor();
  for (const bool is_replaced : {false, true}) {
    CAPTURE(is_replaced);
    f.entry.payload += "!";
    const RecordedCalls record;
    REQUIRE(f.store.keep(f.entry));
    const std::vector<OsCall> calls = RecordedCalls::made();

    const size_t created = place_of(calls, is_creation);
    const OsCall& creation = calls[created];
    CHECK(creation.file == directory);
    CHECK(is_temporary_name(creation.name));
    CHECK(creation.flags == (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC));
    CHECK(creation.mode == 0600);
    const std::int64_t file = creation.result;

    const size_t locked = place_of(calls, "set_lock", file);
    CHECK(calls[locked].flags == F_WRLCK);
    CHECK(calls[locked].result == 0);
    const size_t written = place_of(calls, "write", file);
    CHECK(calls[written].result == static_cast<std::int64_t>(encode(f.entry).size()));
    const size_t synced = place_of(calls, "fsync", file);
    const size_t renamed = place_of(calls, "renameat", directory);
    CHECK(calls[renamed].name == creation.name);
    CHECK(calls[renamed].to == f.name);
    const size_t kept = place_of(calls, "fsync", directory);
    CHECK(created < locked);
    CHECK(locked < written);
    CHECK(written < synced);
    CHECK(synced < renamed);
    CHECK(renamed < kept);
    CHECK(std::ranges::none_of(calls, [](const OsCall& call) { return call.what == "unlinkat"; }));
    CHECK(f.is_found());
  }
}

// Catches a name that is taken and is written to all the same, given up on, or tried again and again.
TEST_CASE("a temporary's name that is taken leads to another", "[cache]") {
  Folder f;
  const Moved moved;
  int taken = 0;
  const RecordedCalls record([&](const OsCall& call) { return is_creation(call) && taken++ == 0 ? EEXIST : 0; });
  CHECK(f.store.keep(f.entry));
  CHECK(moved.all_failures() == 0);
  std::vector<OsCall> creations;
  for (const OsCall& call : RecordedCalls::made()) {
    if (is_creation(call)) creations.push_back(call);
  }
  REQUIRE(creations.size() == 2);
  CHECK(creations[0].name != creations[1].name);
  CHECK(f.is_found());
  CHECK(temporaries_in(f.store.directory()) == 0);
}

// Catches a loop without an end where every name seems to be taken.
TEST_CASE("names that are all taken cost only the cache", "[cache]") {
  Folder f;
  const Quiet quiet;
  const Moved moved;
  const RecordedCalls record([](const OsCall& call) { return is_creation(call) ? EEXIST : 0; });
  CHECK_FALSE(f.store.keep(f.entry));
  CHECK(moved.failures(StoreFailure::other) == 1);
}
