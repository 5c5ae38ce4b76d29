#include "numeric/overlap.hpp"

#include <set>

#include "support/random.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

bool share_by_listing(const ByteRows& a, const ByteRows& b) {
  std::set<std::uint64_t> bytes;
  const auto visit = [](const ByteRows& rows, auto&& each) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (std::int64_t j = 0; j < rows.width; ++j)
        each(rows.address + static_cast<std::uint64_t>(i * rows.stride + j));
    }
  };
  visit(a, [&](std::uint64_t byte) { bytes.insert(byte); });
  bool found = false;
  visit(b, [&](std::uint64_t byte) { found = found || bytes.contains(byte); });
  return found;
}

ByteRows draw(Random& random) {
  ByteRows rows;
  rows.address = static_cast<std::uint64_t>(uniform(random, 0, 120));
  rows.rows = uniform(random, 0, 9);
  rows.width = uniform(random, 0, 6);
  rows.stride = rows.width + uniform(random, 0, 17);
  return rows;
}

}  // namespace

// Catches any wrong answer of the O(log) test against listing every byte.
TEST_CASE("overlap agrees with listing every byte") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  int shared = 0;
  for (int round = 0; round < 20000; ++round) {
    const ByteRows a = draw(random);
    const ByteRows b = draw(random);
    CAPTURE(a.address, a.rows, a.stride, a.width, b.address, b.rows, b.stride, b.width);
    const bool expected = share_by_listing(a, b);
    shared += expected ? 1 : 0;
    REQUIRE(share_a_byte(a, b) == expected);
    REQUIRE(share_a_byte(b, a) == expected);
  }
  // Both answers must really have occurred.
  REQUIRE(shared > 2000);
  REQUIRE(shared < 18000);
}

// Catches overflow and linear-time behaviour at the sizes of real buffers.
TEST_CASE("overlap of huge interleaved windows") {
  constexpr std::int64_t rows = 2147483647;
  const ByteRows left{0x7000000000, rows, 4096, 2048};
  const ByteRows right{0x7000000000 + 2048, rows, 4096, 2048};
  const ByteRows one_more{0x7000000000 + 2048, rows, 4096, 2052};
  REQUIRE_FALSE(share_a_byte(left, right));
  REQUIRE(share_a_byte(left, one_more));  // its last four bytes are the next row of the left window
}

// Catches a wrong smallest solution in the recursion.
TEST_CASE("first multiple in a residue range agrees with counting") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t modulus = uniform(random, 1, 60);
    const std::int64_t step = uniform(random, 0, 100);
    const std::int64_t low = uniform(random, 0, modulus - 1);
    const std::int64_t high = uniform(random, low, modulus - 1);
    std::int64_t expected = -1;
    for (std::int64_t x = 0; x < modulus && expected < 0; ++x) {
      const std::int64_t residue = step * x % modulus;
      if (low <= residue && residue <= high) expected = x;
    }
    CAPTURE(modulus, step, low, high);
    REQUIRE(first_in_residue_range(step, modulus, low, high) == expected);
  }
}
