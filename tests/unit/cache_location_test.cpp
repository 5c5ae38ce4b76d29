// Where the cache is and how large it may be.
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "cache/location.hpp"
#include "support/child.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

constexpr const char* unset = nullptr;

/// The three variables, and what follows from them.
struct Row {
  const char* own;
  const char* xdg;
  const char* home;
  const char* path;
  const char* rule;
  bool refused = false;
};

constexpr const char* no_rule = "none of MAMBA_GEMM_CACHE, XDG_CACHE_HOME and HOME is an absolute path";
constexpr const char* by_own = "MAMBA_GEMM_CACHE";
constexpr const char* by_xdg = "XDG_CACHE_HOME";
constexpr const char* by_home = "HOME";

constexpr Row rows[] = {
    // The library's own variable decides alone, also when it says that there is none.
    {"0", "/x", "/h", "", "MAMBA_GEMM_CACHE is '0'"},
    {"off", "/x", "/h", "", "MAMBA_GEMM_CACHE is 'off'"},
    {"/own", "/x", "/h", "/own", by_own},
    {"/own/", unset, unset, "/own/", by_own},
    {"here/own", "/x", "/h", "", "MAMBA_GEMM_CACHE is 'here/own', which is not an absolute path, '0' or 'off'", true},
    {"~/own", unset, "/h", "", "MAMBA_GEMM_CACHE is '~/own', which is not an absolute path, '0' or 'off'", true},
    {"OFF", "/x", "/h", "", "MAMBA_GEMM_CACHE is 'OFF', which is not an absolute path, '0' or 'off'", true},
    {"00", "/x", "/h", "", "MAMBA_GEMM_CACHE is '00', which is not an absolute path, '0' or 'off'", true},
    // Set to nothing is as if it were not set.
    {"", "/x", "/h", "/x/mamba-gemm", by_xdg},
    {"", unset, "/h", "/h/.cache/mamba-gemm", by_home},
    {"", unset, unset, "", no_rule},
    // By the XDG rules a relative path is passed over.
    {unset, "/x", "/h", "/x/mamba-gemm", by_xdg},
    {unset, "/x", unset, "/x/mamba-gemm", by_xdg},
    {unset, "x", "/h", "/h/.cache/mamba-gemm", by_home},
    {unset, "", "/h", "/h/.cache/mamba-gemm", by_home},
    {unset, unset, "/h", "/h/.cache/mamba-gemm", by_home},
    {unset, "x", "h", "", no_rule},
    {unset, unset, "h", "", no_rule},
    {unset, unset, "", "", no_rule},
    {unset, unset, unset, "", no_rule},
};

}  // namespace

// Catches a rule that wins over an earlier one, a cache in the working directory, a switch that does not switch off,
// and a wrong value that nobody is told of.
TEST_CASE("the cache's place follows from three variables", "[cache]") {
  for (const Row& row : rows) {
    const auto shown = [](const char* value) { return value == nullptr ? "(unset)" : value; };
    CAPTURE(shown(row.own), shown(row.xdg), shown(row.home));
    const CacheLocation location = cache_location([&](const char* variable) -> const char* {
      const std::string_view name = variable;
      return name == by_own ? row.own : name == by_xdg ? row.xdg : name == by_home ? row.home : "/not/asked/for";
    });
    CHECK(location.path == row.path);
    CHECK(location.rule == row.rule);
    CHECK(location.refused == row.refused);
  }
}

TEST_CASE("process: count the warnings of the cache's place", "[.]") {
  std::vector<std::string> lines;
  const auto receive = [](std::int32_t, const char* line, void* user) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(line);
  };
  set_log(MGEMM_LOG_WARN, receive, &lines);
  for (int i = 0; i < 3; ++i) static_cast<void>(cache_location());
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  for (const std::string& line : lines) {
    if (line.find("MAMBA_GEMM_CACHE is '") == std::string::npos) std::exit(50);
  }
  std::exit(static_cast<int>(lines.size()));
}

// Catches a warning at every call, and none, or one about what is allowed. In processes of their own, as it is once in
// each.
TEST_CASE("a refused variable is warned of once", "[cache]") {
  const auto warnings_with = [](const std::string& value) {
    return Child("process: count the warnings of the cache's place", {"MAMBA_GEMM_CACHE=" + value}).wait();
  };
  CHECK(warnings_with("relative/path") == 1);
  CHECK(warnings_with("off") == 0);
  CHECK(warnings_with("") == 0);
}

// Catches suffixes that mean something else, and numbers that wrap round.
TEST_CASE("sizes are read", "[cache]") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("123") == 123);
  CHECK(parse_bytes("4K") == 4096);
  CHECK(parse_bytes("4k") == 4096);
  CHECK(parse_bytes("3M") == 3U << 20U);
  CHECK(parse_bytes("2g") == std::uint64_t{2} << 30U);
  CHECK(parse_bytes("18446744073709551615") == ~std::uint64_t{0});
  for (const char* bad :
       {"", "K", "-1", "+1", " 1", "1 ", "1KB", "1T", "1.5M", "18446744073709551616", "99999999999999G", "0x10"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_bytes(bad));
  }
}

// Catches a variable that is not obeyed, and a bad one that is fatal.
TEST_CASE("MAMBA_GEMM_CACHE_MAX sets the cap", "[cache]") {
  const auto cap_with = [](const char* text) {
    return in_fork([text] {
      set_log(MGEMM_LOG_OFF, nullptr, nullptr);
      if (text == nullptr) {
        unsetenv("MAMBA_GEMM_CACHE_MAX");
      } else {
        setenv("MAMBA_GEMM_CACHE_MAX", text, 1);
      }
      return static_cast<int>(cache_max() >> 20U) % 251;
    });
  };
  CHECK(cap_with(nullptr) == 256 % 251);
  CHECK(cap_with("") == 256 % 251);
  CHECK(cap_with("7M") == 7);
  CHECK(cap_with("lots") == 256 % 251);
}
