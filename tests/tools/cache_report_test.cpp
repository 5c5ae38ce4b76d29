// The tables about a cache, of any object that a library may give.
#include "cache_report.hpp"

#include "cache_key.hpp"
#include "failure.hpp"
#include "support/test.hpp"

using namespace mgemm::cli;

// Catches a unit that is off by one power, and a plural of one.
TEST_CASE("sizes and counts are written for people") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(std::uint64_t{5} << 20U) == "5.0 MiB");
  CHECK(size_text(std::uint64_t{3} << 30U) == "3.0 GiB");
  CHECK(entries_text(1) == "1 entry");
  CHECK(entries_text(0) == "0 entries");
}

// Catches a unit that means something else.
TEST_CASE("durations") {
  CHECK(parse_duration("90s") == 90);
  CHECK(parse_duration("15m") == 900);
  CHECK(parse_duration("12h") == 43200);
  CHECK(parse_duration("7d") == 604800);
  CHECK(parse_duration("0s") == 0);
  for (const char* const text : {"", "s", "1", "1.5h", "+1h", "1 h", "1H"})
    CHECK_THROWS_AS(parse_duration(text), BadInput);
}

// Catches a table that relies on a key: the library may leave any of them out, or change a type.
TEST_CASE("the cache's tables take any object") {
  for (
      const char* const text :
      {"{}", "[1]", "3",
       R"({"entries": 3, "entry_count": "x", "kinds": [1], "fields": "x", "path": null, "hits": 4, "compiles": [{}, 1]})"}) {
    CAPTURE(text);
    const Json json = Json::parse(text);
    CHECK_NOTHROW(list_text(json));
    CHECK_NOTHROW(entry_text(json));
    CHECK_NOTHROW(totals_text(json));
    CHECK_NOTHROW(bad_entry_text(json));
    CHECK_NOTHROW(counters_text(json));
  }
}

// Catches an escape sequence in a field that a terminal would obey.
TEST_CASE("fields are printed without control characters") {
  const Json entry = {{"sound", true}, {"fields", Json::array({{{"tag", "a\x1b[31m"}, {"value", "b\nfield c: d"}}})}};
  CHECK(entry_text(entry).find("field     a?[31m: b?field c: d\n") != std::string::npos);
  // U+009B is an escape sequence's beginning in one character; U+00E9 is a letter.
  const Json other = {{"sound", true},
                      {"fields", Json::array({{{"tag", "caf\xc3\xa9"},
                                               {"value",
                                                "\xc2\x9b"
                                                "31m"}}})}};
  CHECK(entry_text(other).find("field     caf\xc3\xa9: ??31m\n") != std::string::npos);
}

// Catches a line that leaves kinds out, or takes hits for compiles.
TEST_CASE("a run's line about the cache adds up the kinds") {
  const Json counters =
      Json::parse(R"({"hits": {"ptx": 1, "memo": 2}, "misses": 50, "compiles": {"machine-code": 4}})");
  CHECK(counters_text(counters) == "cache: 3 hits, 4 compiles\n");
}
