#include "compare.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/test.hpp"

using mgemm::cli::Array;
using mgemm::cli::compare_all;
using mgemm::cli::compare_samples;
using mgemm::cli::Comparison;
using mgemm::cli::draw_samples;
using mgemm::cli::Matrix;
using mgemm::cli::Samples;
namespace test = mgemm::test;

// Catches a comparison of values in place of bits: -0 is not +0, and a NaN is itself.
TEST_CASE("comparison is of bits") {
  const Matrix matrix{1, 2, 2};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(compare_all(matrix, Array(std::vector{0.0F, nan}), Array(std::vector{0.0F, nan})).passed());
  const Comparison result = compare_all(matrix, Array(std::vector{-0.0F, nan}), Array(std::vector{0.0F, nan}));
  CHECK_FALSE(result.passed());
  CHECK(result.equal == 1);
  REQUIRE(result.first);
  CHECK(result.first->got == 0x80000000U);
  CHECK(result.first->expected == 0);
}

// Catches a differing element or gap word, anywhere, that is missed or put at the wrong place.
TEST_CASE("any single changed word is found") {
  const Matrix matrix{5, 7, 9};
  const std::vector<float> expected(45, 1.0F);
  const Comparison same = compare_all(matrix, Array(expected), Array(expected));
  CHECK(same.passed());
  CHECK(same.checked == 35);
  CHECK(same.gap_elements == 10);
  for (std::size_t at = 0; at < expected.size(); ++at) {
    std::vector<float> got = expected;
    got[at] = 2;
    const Comparison result = compare_all(matrix, Array(got), Array(expected));
    CAPTURE(at);
    CHECK_FALSE(result.passed());
    if (at % 9 < 7) {
      REQUIRE(result.first);
      CHECK(std::pair(result.first->row, result.first->column) ==
            std::pair<std::int64_t, std::int64_t>(at / 9, at % 9));
      CHECK(result.gap_changed == 0);
    } else {
      CHECK_FALSE(result.first);
      CHECK(result.gap_changed == 1);
    }
  }
}

// Catches samples outside the output, repeated ones, a missing corner, too few of them, and a seed without effect.
TEST_CASE("samples are distinct, inside, enough, and hold the corners") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t rows = test::uniform(random, 0, 90), columns = test::uniform(random, 0, 90);
    const Matrix matrix{rows, columns, columns};
    const Samples samples = draw_samples(matrix, 1024, random());
    CHECK(std::ssize(samples.rows) == std::min<std::int64_t>(1024, rows * columns));
    std::set<std::pair<std::int64_t, std::int64_t>> distinct;
    for (std::size_t i = 0; i < samples.rows.size(); ++i) distinct.emplace(samples.rows[i], samples.columns[i]);
    CHECK(distinct.size() == samples.rows.size());
    if (rows == 0 || columns == 0) continue;
    for (const auto& corner :
         {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, columns - 1}, {rows - 1, 0}, {rows - 1, columns - 1}})
      CHECK(distinct.contains(corner));
    CHECK(std::prev(distinct.end())->first < rows);
    CHECK(std::all_of(samples.columns.begin(), samples.columns.end(), [&](auto c) { return c >= 0 && c < columns; }));
  }
  const Matrix large{1000, 1000, 1000};
  CHECK(draw_samples(large, 1024, 1).rows == draw_samples(large, 1024, 1).rows);
  CHECK(draw_samples(large, 1024, 1).rows != draw_samples(large, 1024, 2).rows);
}

// Catches samples looked up at the wrong address when rows have a gap, and a gap that is not looked at.
TEST_CASE("sampled comparison honours the leading dimension and the gap") {
  const Matrix matrix{3, 2, 4};
  std::vector<float> got(12), before(12, -1.0F);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = i % 4 < 2 ? static_cast<float>(i) : -1.0F;
  const Samples samples{{0, 1, 2}, {1, 0, 1}};
  std::vector<float> expected{1, 4, 9};
  CHECK(compare_samples(matrix, samples, Array(got), expected, Array(before)).passed());
  expected[1] = 5;
  const Comparison wrong = compare_samples(matrix, samples, Array(got), expected, Array(before));
  REQUIRE(wrong.first);
  CHECK(wrong.first->row == 1);
  CHECK(wrong.first->column == 0);
  before[3] = 0;
  CHECK(compare_samples(matrix, samples, Array(got), std::vector<float>{1, 4, 9}, Array(before)).gap_changed == 1);
}
