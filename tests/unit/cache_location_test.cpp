// Where the cache is and how large it may be.
#include "base/log.hpp"
#include "cache/location.hpp"
#include "support/child.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

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
