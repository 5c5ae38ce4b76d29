// The cache's functions called wrongly, and where there is no cache.
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using mgemm::test::TempFolder;

const std::string key(64, 'a');

void rejects(mgemm_status status, mgemm_status expected, const char* words) {
  const std::string text = mgemm_last_error();
  CAPTURE(text, words);
  REQUIRE(status == expected);
  REQUIRE(text.find(words) != std::string::npos);
}

template <typename Struct>
Struct of_size(size_t size) {
  Struct result;
  std::memset(&result, 0x5a, sizeof result);
  result.struct_size = size;
  return result;
}

/// A call of each function that takes a folder, with buffers large enough.
template <typename Check>
void each_call(const char* cache_dir, Check check) {
  char text[16384];
  auto report = of_size<mgemm_cache_report>(sizeof(mgemm_cache_report));
  check(mgemm_cache_list_json(cache_dir, text, sizeof text, nullptr));
  check(mgemm_cache_totals_json(cache_dir, text, sizeof text, nullptr));
  check(mgemm_cache_payload(cache_dir, key.c_str(), MGEMM_CACHE_PTX, text, sizeof text, nullptr));
  check(mgemm_cache_verify(cache_dir, 1, &report));
  check(mgemm_cache_purge(cache_dir, -1, &report));
}

}  // namespace

// Catches a structure that is written before its size is known, or at all when the call fails.
TEST_CASE("cache calls reject wrong structures") {
  rejects(mgemm_cache_get_counters(nullptr), MGEMM_INVALID_ARGUMENT, "counters is NULL");
  rejects(mgemm_cache_verify("off", 0, nullptr), MGEMM_INVALID_ARGUMENT, "report is NULL");
  rejects(mgemm_cache_purge("off", -1, nullptr), MGEMM_INVALID_ARGUMENT, "report is NULL");
  auto counters = of_size<mgemm_cache_counters>(sizeof(mgemm_cache_counters) - 8);
  rejects(mgemm_cache_get_counters(&counters), MGEMM_INVALID_ARGUMENT, "counters.struct_size");
  REQUIRE(counters.misses == 0x5a5a5a5a5a5a5a5aU);
  auto report = of_size<mgemm_cache_report>(0);
  rejects(mgemm_cache_verify("off", 0, &report), MGEMM_INVALID_ARGUMENT, "report.struct_size");
  rejects(mgemm_cache_purge("off", -1, &report), MGEMM_INVALID_ARGUMENT, "report.struct_size");
  REQUIRE(report.sound == 0x5a5a5a5a5a5a5a5aU);
}

// Catches a result structure of a later release whose rest is left as it was.
TEST_CASE("the counters of a later release are filled up with zeroes") {
  struct Later {
    mgemm_cache_counters known;
    std::uint64_t more;
  };
  Later later{of_size<mgemm_cache_counters>(sizeof(Later)), 7};
  REQUIRE(mgemm_cache_get_counters(&later.known) == MGEMM_OK);
  REQUIRE(later.known.struct_size == sizeof(Later));
  REQUIRE(later.more == 0);
  for (const std::uint64_t word : later.known.reserved) REQUIRE(word == 0);
  REQUIRE(later.known.hits[0] == 0);
  REQUIRE(later.known.hits[MGEMM_CACHE_KINDS - 1] == 0);
}

// Catches a number, key or folder that is used before it is checked, or whose error does not say which it was.
TEST_CASE("cache calls reject wrong values") {
  auto report = of_size<mgemm_cache_report>(sizeof(mgemm_cache_report));
  rejects(mgemm_cache_verify("off", 2, &report), MGEMM_INVALID_ARGUMENT, "repair is 2");
  rejects(mgemm_cache_purge("off", -2, &report), MGEMM_INVALID_ARGUMENT, "older_than_seconds is -2");
  REQUIRE(report.sound == 0x5a5a5a5a5a5a5a5aU);
  const auto payload = [](const char* which, std::int32_t kind) {
    return mgemm_cache_payload("off", which, kind, nullptr, 0, nullptr);
  };
  rejects(payload(nullptr, MGEMM_CACHE_PTX), MGEMM_INVALID_ARGUMENT, "key is NULL");
  rejects(payload("", MGEMM_CACHE_PTX), MGEMM_INVALID_ARGUMENT, "key is ''");
  rejects(payload((key + "a").c_str(), MGEMM_CACHE_PTX), MGEMM_INVALID_ARGUMENT, "64 lower-case");
  rejects(payload(std::string(64, 'A').c_str(), MGEMM_CACHE_PTX), MGEMM_INVALID_ARGUMENT, "64 lower-case");
  rejects(payload((key.substr(1) + "g").c_str(), MGEMM_CACHE_PTX), MGEMM_INVALID_ARGUMENT, "64 lower-case");
  for (const std::int32_t kind : {-1, 0, 5, 8, 2147483647}) {
    rejects(payload(key.c_str(), kind), MGEMM_INVALID_ARGUMENT, "kind is ");
  }
  for (const char* const folder : {"relative/folder", "", "OFF", "./x"}) {
    each_call(folder, [](mgemm_status status) { rejects(status, MGEMM_INVALID_ARGUMENT, "cache_dir is '"); });
  }
}

// Catches a cache that is off and taken for an error, or for the environment's.
TEST_CASE("no cache is an empty one") {
  REQUIRE(mamba_gemm::cache_list_json("off") == R"({"path":"","rule":"cache_dir is 'off'","entries":[]})");
  REQUIRE(mamba_gemm::cache_totals_json("off").find(R"("exists":false,"refusal":null)") != std::string::npos);
  REQUIRE(mamba_gemm::cache_verify(true, "off").bad == 0);
  REQUIRE(mamba_gemm::cache_purge(-1, "off").removed == 0);
  rejects(mgemm_cache_payload("off", key.c_str(), MGEMM_CACHE_MEMO, nullptr, 0, nullptr), MGEMM_NO_ENTRY, "'off'");
}

// Catches a folder that is made by looking at it.
TEST_CASE("a cache folder that is not there stays so") {
  const TempFolder folder;
  const std::string missing = (folder.path() / "a" / "b").string();
  REQUIRE(mamba_gemm::cache_list_json(missing.c_str()).find("\"entries\":[]") != std::string::npos);
  each_call(missing.c_str(), [](mgemm_status status) { REQUIRE((status == MGEMM_OK || status == MGEMM_NO_ENTRY)); });
  REQUIRE(std::filesystem::is_empty(folder.path()));
}

// Catches a refused folder that looks empty, and a message that does not say what to do.
TEST_CASE("a refused cache folder is an error that says what to do") {
  const TempFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  int refused = 0;
  each_call(folder.path().c_str(), [&](mgemm_status status) {
    if (status == MGEMM_OK) return;  // the totals
    ++refused;
    rejects(status, MGEMM_IO, "chmod 700");
  });
  REQUIRE(refused == 4);
  REQUIRE(mamba_gemm::cache_totals_json(folder.path().c_str()).find("has mode 0755, not 0700") != std::string::npos);
}
