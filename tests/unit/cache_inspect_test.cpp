// What tools are told about a cache.
#include "cache/inspect.hpp"

#include <sys/stat.h>

#include "base/log.hpp"
#include "support/cache.hpp"
#include "support/raises.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using std::filesystem::path;

void age(const path& file, std::chrono::hours hours) {
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - hours);
}

}  // namespace

// Catches entries that are left out, wrong sizes and ages, and a listing that hides what is bad.
TEST_CASE("entries are listed with where they came from", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string());
  Random random(fresh_seed());
  Entry first = random_entry(random);
  first.fields = {{"module", "f32_tile"}, {"nothing", std::nullopt}};
  Entry second = random_entry(random);
  REQUIRE(store.keep(first));
  REQUIRE(store.keep(second));
  const path second_file = cache / entry_name(second.key, second.kind);
  write_file(second_file, "bad");
  age(second_file, std::chrono::hours(5));
  write_file(cache / "README", "x");

  const std::vector<EntryInfo> entries = list_entries(store);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].key == first.key);
  CHECK(entries[0].kind == first.kind);
  CHECK(entries[0].reject == Reject::none);
  CHECK(entries[0].problem.empty());
  CHECK(entries[0].payload_bytes == first.payload.size());
  CHECK(entries[0].payload_digest == first.payload_digest);
  CHECK(entries[0].bytes == encode(first).size());
  CHECK(entries[0].age_seconds < 60);
  REQUIRE(entries[0].fields.size() == 2);
  CHECK(entries[0].fields[0].value == "f32_tile");
  CHECK_FALSE(entries[0].fields[1].value);
  CHECK(entries[1].key == second.key);
  CHECK(entries[1].reject == Reject::foreign);
  CHECK_FALSE(entries[1].problem.empty());
  CHECK(entries[1].age_seconds >= 18000 - 60);  // the clock may be set back a little meanwhile

  const Totals totals = cache_totals(store);
  CHECK(totals.entries == 2);
  CHECK(totals.bytes == encode(first).size() + 3);
  CHECK(sum(totals.entries_of_kind) == 2);
  CHECK(sum(totals.bytes_of_kind) == totals.bytes);
  CHECK(totals.others == 1);
  CHECK(totals.cap == store.cap());
}

// Catches a repair that removes what is sound, or a check that changes anything.
TEST_CASE("verify finds the bad ones and repair removes them", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string());
  Random random(fresh_seed());
  std::vector<Entry> entries;
  for (int i = 0; i < 6; ++i) {
    entries.push_back(random_entry(random));
    REQUIRE(store.keep(entries.back()));
  }
  const auto file = [&](size_t i) { return cache / entry_name(entries[i].key, entries[i].kind); };
  write_file(file(0), "bad");
  REQUIRE(chmod(file(1).c_str(), 0644) == 0);
  std::filesystem::remove(file(2));
  std::filesystem::create_directory(file(2));
  const Moved moved;
  Verification found = verify_entries(store, false);
  CHECK(found.sound == 3);
  CHECK(found.bad.size() == 3);
  CHECK(found.removal.removed == 0);
  found = verify_entries(store, true);
  CHECK(found.bad.size() == 3);
  CHECK(found.removal.removed == 3);
  found = verify_entries(store, true);
  CHECK(found.sound == 3);
  CHECK(found.bad.empty());
  CHECK((moved.hits() == 0 && moved.misses() == 0));
}

// Catches a purge that takes too much, or leaves what it should take.
TEST_CASE("purge by age and of everything", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string());
  Random random(fresh_seed());
  for (int i = 0; i < 5; ++i) {
    const Entry entry = random_entry(random);
    REQUIRE(store.keep(entry));
    if (i < 2) age(cache / entry_name(entry.key, entry.kind), std::chrono::hours(48));
  }
  write_file(cache / "README", "x");
  write_file(cache / fresh_temporary_name(), "x");
  CHECK(purge_entries(store, std::chrono::hours(72)).removed == 0);
  const Removal by_age = purge_entries(store, std::chrono::hours(24));
  CHECK(by_age.removed == 2);
  CHECK(by_age.bytes > 0);
  CHECK(by_age.failed == 0);
  CHECK(temporaries_in(cache) == 0);
  CHECK(purge_entries(store, std::nullopt).removed == 3);
  CHECK(cache_totals(store).entries == 0);
  CHECK(std::filesystem::exists(cache / "README"));
}

// Catches a look at a cache that makes one, and an error that is taken for an empty cache.
TEST_CASE("a cache that is not there, is off, or is refused", "[cache]") {
  const TempFolder folder;
  Store off("");
  CHECK(list_entries(off).empty());
  Store missing((folder.path() / "missing").string(), {.creation = Creation::never});
  CHECK(list_entries(missing).empty());
  CHECK(verify_entries(missing, true).sound == 0);
  CHECK(purge_entries(missing, std::nullopt).removed == 0);
  CHECK(cache_totals(missing).entries == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
  const path wide = folder.path() / "wide";
  std::filesystem::create_directory(wide);
  REQUIRE(chmod(wide.c_str(), 0755) == 0);
  set_log(MGEMM_LOG_OFF, nullptr, nullptr);
  Store refused(wide.string(), {.creation = Creation::never});
  const Error error = error_of([&] { list_entries(refused); });
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  CHECK(error.status() == MGEMM_IO);
  CHECK(std::string(error.what()).find("chmod 700") != std::string::npos);
}
