// The C interface to a cache whose entries the store has written.
#include <sys/stat.h>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cache/names.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "support/cache.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using nlohmann::json;
using std::filesystem::path;

/// A folder with random entries of which the first are damaged.
struct Damaged {
  TempFolder folder;
  path cache = folder.path() / "cache";
  Store store{cache.string()};
  std::vector<Entry> entries;

  Damaged(size_t count, size_t damaged) {
    Random random(fresh_seed());
    while (entries.size() < count) {
      entries.push_back(random_entry(random));
      entries.back().payload += "x";  // so that there is something to damage
      REQUIRE(store.keep(entries.back()));
    }
    for (size_t i = 0; i < damaged; ++i) {
      std::string bytes = read_file(file(i));
      bytes.back() = static_cast<char>(bytes.back() ^ 1);
      write_file(file(i), bytes);
    }
  }
  path file(size_t i) const { return cache / entry_name(entries[i].key, entries[i].kind); }
  const char* directory() const { return cache.c_str(); }
};

std::string name_of(const json& entry) {
  return entry["key"].get<std::string>() + "." + entry["kind"].get<std::string>();
}

/// As the library writes text that may be no UTF-8.
json as_text(const std::string& bytes) {
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace));
}

mgemm_status payload_status(const Damaged& damaged, size_t i) {
  return mgemm_cache_payload(damaged.directory(), to_hex(damaged.entries[i].key).c_str(),
                             static_cast<std::int32_t>(damaged.entries[i].kind), nullptr, 0, nullptr);
}

}  // namespace

// Catches an entry that is left out or described wrongly, a damaged one that looks sound, and fields that are lost
// because their tags repeat.
TEST_CASE("the listing has every entry and says what is wrong", "[cache]") {
  Damaged damaged(8, 3);
  Entry repeated = damaged.entries.back();
  repeated.fields = {{"option", "-a"}, {"option", "-b"}, {"nothing", std::nullopt}};
  REQUIRE(damaged.store.keep(repeated));
  damaged.entries.back() = repeated;

  const json listing = json::parse(mamba_gemm::cache_list_json(damaged.directory()));
  CHECK(listing["path"] == damaged.cache.string());
  CHECK(listing["rule"] == "cache_dir");
  REQUIRE(listing["entries"].size() == damaged.entries.size());
  std::map<std::string, json> by_name;
  for (const json& entry : listing["entries"]) by_name[name_of(entry)] = entry;
  for (size_t i = 0; i < damaged.entries.size(); ++i) {
    const Entry& written = damaged.entries[i];
    const json& shown = by_name[entry_name(written.key, written.kind)];
    CAPTURE(i, shown.dump());
    CHECK(shown["bytes"] == encode(written).size());
    CHECK(shown["age_seconds"] < 3600);
    CHECK(shown["sound"] == (i >= 3));
    if (i < 3) {
      CHECK(shown["problem"] == "its SHA-256 does not match");
      CHECK(shown["payload_bytes"].is_null());
      CHECK(shown["payload_sha256"].is_null());
      CHECK(shown["fields"].empty());
      continue;
    }
    CHECK(shown["problem"].is_null());
    CHECK(shown["payload_bytes"] == written.payload.size());
    CHECK(shown["payload_sha256"] == to_hex(sha256(written.payload)));
    REQUIRE(shown["fields"].size() == written.fields.size());
    for (size_t f = 0; f < written.fields.size(); ++f) {
      CHECK(shown["fields"][f]["tag"] == as_text(written.fields[f].tag));
      const auto& value = written.fields[f].value;
      CHECK(shown["fields"][f]["value"] == (value ? as_text(*value) : json(nullptr)));
    }
  }
}

// Catches a NUL that is added or needed, bytes that are lost, a rejected entry that is handed out, and one that is
// taken for absent.
TEST_CASE("payloads are given byte for byte, or not at all", "[cache]") {
  const Damaged damaged(6, 1);
  for (size_t i = 1; i < damaged.entries.size(); ++i) {
    const Entry& entry = damaged.entries[i];
    const auto kind = static_cast<std::int32_t>(entry.kind);
    CHECK(mamba_gemm::cache_payload(to_hex(entry.key), kind, damaged.directory()) == entry.payload);
    size_t needed = 0;
    std::string buffer(entry.payload.size() + 1, '#');
    CHECK(mgemm_cache_payload(damaged.directory(), to_hex(entry.key).c_str(), kind, buffer.data(),
                              entry.payload.size() - 1, &needed) == MGEMM_INVALID_ARGUMENT);
    CHECK(needed == entry.payload.size());
    CHECK(buffer[0] == '#');
    CHECK(mgemm_cache_payload(damaged.directory(), to_hex(entry.key).c_str(), kind, buffer.data(), needed, nullptr) ==
          MGEMM_OK);
    CHECK(buffer == entry.payload + "#");
  }
  CHECK(payload_status(damaged, 0) == MGEMM_IO);
  CHECK(std::string(mgemm_last_error()).find("its SHA-256 does not match") != std::string::npos);
  std::filesystem::remove(damaged.file(1));
  CHECK(payload_status(damaged, 1) == MGEMM_NO_ENTRY);
}

// Catches a repair that keeps what is bad or takes what is sound, and looks that are counted as uses.
TEST_CASE("verify and purge report what they did", "[cache]") {
  const Damaged damaged(7, 2);
  const Moved moved;
  mgemm_cache_report report = mamba_gemm::cache_verify(false, damaged.directory());
  CHECK((report.sound == 5 && report.bad == 2 && report.removed == 0 && report.failed == 0 && report.bytes == 0));
  report = mamba_gemm::cache_verify(true, damaged.directory());
  CHECK((report.sound == 5 && report.bad == 2 && report.removed == 2 && report.failed == 0));
  CHECK(report.bytes == encode(damaged.entries[0]).size() + encode(damaged.entries[1]).size());
  report = mamba_gemm::cache_verify(true, damaged.directory());
  CHECK((report.sound == 5 && report.bad == 0 && report.removed == 0));
  report = mamba_gemm::cache_purge(3600, damaged.directory());
  CHECK((report.removed == 0 && report.failed == 0));
  report = mamba_gemm::cache_purge(0, damaged.directory());
  CHECK((report.removed == 5 && report.bytes > 0 && report.sound == 0));
  CHECK((moved.hits() == 0 && moved.misses() == 0 && moved.all_rejects() == 0));
}

// Catches an entry that cannot be removed and is not reported. A folder that is not empty stands for it.
TEST_CASE("what cannot be removed is counted", "[cache]") {
  const Damaged damaged(2, 0);
  std::filesystem::remove(damaged.file(0));
  std::filesystem::create_directories(damaged.file(0) / "inside");
  mgemm_cache_report report = mamba_gemm::cache_verify(true, damaged.directory());
  CHECK((report.bad == 1 && report.removed == 0 && report.failed == 1));
  report = mamba_gemm::cache_purge(-1, damaged.directory());
  CHECK((report.removed == 1 && report.failed == 1));
}

// Catches totals that differ from what is there, and counters under a wrong name or at a wrong place.
TEST_CASE("totals and counters", "[cache]") {
  Damaged damaged(9, 2);
  const mgemm_cache_counters before = mamba_gemm::cache_counters();
  for (const Entry& entry : damaged.entries) damaged.store.load(entry.key, entry.kind);
  const mgemm_cache_counters after = mamba_gemm::cache_counters();
  const json totals = json::parse(mamba_gemm::cache_totals_json(damaged.directory()));

  CHECK(totals["exists"] == true);
  CHECK(totals["refusal"].is_null());
  CHECK(totals["cap"] == damaged.store.cap());
  CHECK(totals["entry_count"] == 9);
  std::map<std::string, std::uint64_t> entries, hits;
  for (size_t i = 0; i < damaged.entries.size(); ++i) {
    const std::string kind(to_string(damaged.entries[i].kind));
    ++entries[kind];
    if (i >= 2) ++hits[kind];
  }
  const std::map<std::string, std::int32_t> kinds{{"ptx", MGEMM_CACHE_PTX},
                                                  {"machine-code", MGEMM_CACHE_MACHINE_CODE},
                                                  {"memo", MGEMM_CACHE_MEMO},
                                                  {"verdict", MGEMM_CACHE_VERDICT}};
  for (const auto& [name, kind] : kinds) {
    CAPTURE(name);
    CHECK(totals["kinds"][name]["entry_count"] == entries[name]);
    CHECK(totals["counters"]["hits"][name] == after.hits[kind]);
    CHECK(after.hits[kind] - before.hits[kind] == hits[name]);
  }
  CHECK(after.misses - before.misses == 2);
  CHECK(after.rejects[MGEMM_CACHE_REJECT_DAMAGED] - before.rejects[MGEMM_CACHE_REJECT_DAMAGED] == 2);
  CHECK(totals["counters"]["rejects"]["damaged"] == after.rejects[MGEMM_CACHE_REJECT_DAMAGED]);
  CHECK(totals["counters"]["misses"] == after.misses);
  CHECK(totals["counters"]["bytes_read"] == after.bytes_read);
  CHECK(after.bytes_read > before.bytes_read);
  CHECK(totals["counters"]["nvrtc_loads"] == after.nvrtc_loads);
}

// Catches a reason for not keeping that is counted under its neighbour.
TEST_CASE("store failures are counted by their public numbers", "[cache]") {
  const TempFolder folder;
  Store small((folder.path() / "cache").string(), {.cap = 1});
  Random random(fresh_seed());
  const mgemm_cache_counters before = mamba_gemm::cache_counters();
  CHECK_FALSE(small.keep(random_entry(random)));
  const mgemm_cache_counters after = mamba_gemm::cache_counters();
  for (int i = 0; i < MGEMM_CACHE_FAILURES; ++i) {
    CHECK(after.store_failures[i] - before.store_failures[i] == (i == MGEMM_CACHE_FAILURE_TOO_LARGE ? 1 : 0));
  }
  const json totals = json::parse(mamba_gemm::cache_totals_json("off"));
  CHECK(totals["counters"]["store_failures"]["too-large"] == after.store_failures[MGEMM_CACHE_FAILURE_TOO_LARGE]);
}
