// The slice rules: compile-time functions of the shape that the evaluator and every kernel share.
#include "numeric/contract.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;

Problem shape(Op op, std::int64_t m, std::int64_t k, std::int64_t n) { return {.op = op, .m = m, .k = k, .n = n}; }

std::int64_t count(Op op, std::int64_t m, std::int64_t k, std::int64_t n) {
  return contract_of(shape(op, m, k, n), sm90_set).slices.count;
}
std::int64_t length(Op op, std::int64_t m, std::int64_t k, std::int64_t n) {
  return contract_of(shape(op, m, k, n), sm90_set).slices.length;
}

/// Sizes around powers of two and multiples of 64, and any others.
std::int64_t some_size(test::Random& random) {
  const std::int64_t base = std::int64_t{1} << test::uniform(random, 0, 30);
  switch (test::uniform(random, 0, 3)) {
    case 0:
      return std::max<std::int64_t>(0, base + test::uniform(random, -2, 2));
    case 1:
      return 64 * test::uniform(random, 0, 1 << 20) + test::uniform(random, 0, 1);
    case 2:
      return test::uniform(random, 0, 5000);
    default:
      return test::uniform(random, 0, (std::int64_t{1} << 31) - 1);
  }
}

}  // namespace

// Catches a rule that was changed by accident: the values below were worked out by hand from the table of the
// contracts.
TEST_CASE("slices of a forward product or input gradient depend on reduction and columns", "[contract]") {
  // R <= 512: one chain, also at the boundary.
  CHECK(count(Op::nn, 7, 512, 64) == 1);
  CHECK(length(Op::nn, 7, 512, 64) == 512);
  CHECK(length(Op::nn, 7, 500, 64) == 512);
  // R = 513: ceil(513 / 512) = 2 slices of 64 * ceil(513 / 128) = 320.
  CHECK(count(Op::nn, 7, 513, 64) == 2);
  CHECK(length(Op::nn, 7, 513, 64) == 320);
  // R = 5120: 10 slices of 512.
  CHECK(count(Op::nn, 7, 5120, 2047) == 10);
  CHECK(length(Op::nn, 7, 5120, 2047) == 512);
  // C >= 2048: one chain.
  CHECK(count(Op::nn, 7, 5120, 2048) == 1);
  CHECK(length(Op::nn, 7, 5120, 2048) == 5120);
  // NT reduces over N and has K columns.
  CHECK(count(Op::nt, 7, 2047, 1000) == 2);
  CHECK(length(Op::nt, 7, 2047, 1000) == 512);
  CHECK(count(Op::nt, 7, 2048, 5120) == 1);
  CHECK(contract_of(shape(Op::nn, 1, 5120, 10), sm90_set).fold == Fold::f32);
  CHECK(contract_of(shape(Op::nt, 1, 10, 5120), sm90_set).fold == Fold::f32);
}

// Catches a changed weight-gradient rule, hand-computed as above.
TEST_CASE("slices of a weight gradient depend on the tiles of its output", "[contract]") {
  // 1 tile: floor(132 / 1) = 132, cut down to min(8, floor(4096 / 512)) = 8 slices of 512.
  CHECK(count(Op::tn, 4096, 128, 192) == 8);
  CHECK(length(Op::tn, 4096, 128, 192) == 512);
  // 6 x 4 = 24 tiles: floor(132 / 24) = 5 slices of 64 * ceil(8192 / 320) = 1664.
  CHECK(count(Op::tn, 8192, 768, 768) == 5);
  CHECK(length(Op::tn, 8192, 768, 768) == 1664);
  // One column more makes a fifth tile in a row: floor(132 / 30) = 4 slices of 2048.
  CHECK(count(Op::tn, 8192, 768, 769) == 4);
  CHECK(length(Op::tn, 8192, 768, 769) == 2048);
  // More tiles than 132, or fewer than 1024 rows: one chain.
  CHECK(count(Op::tn, 8192, 5120, 2560) == 1);
  CHECK(count(Op::tn, 1023, 64, 64) == 1);
  CHECK(length(Op::tn, 1023, 64, 64) == 1024);
  CHECK(count(Op::tn, 1024, 64, 64) == 2);
  CHECK(contract_of(shape(Op::tn, 1024, 64, 64), sm90_set).fold == Fold::f64);
}

// Catches slices that would be empty: asked for 7, a reduction of 10 * 64 steps has five of 128.
TEST_CASE("slices that would be empty do not exist", "[contract]") {
  CHECK(cut(640, 7).count == 5);
  CHECK(cut(640, 7).length == 128);
  CHECK(cut(0, 8).count == 1);
  CHECK(cut(0, 8).length == 0);
  CHECK(cut(1, 8).count == 1);
  CHECK(cut(1, 8).length == 64);
}

// Catches gaps, overlaps, empty slices, lengths that kernels cannot step through, and overflow at the largest sizes.
TEST_CASE("slices cover every reduction exactly", "[contract]") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  for (int round = 0; round < 20000; ++round) {
    const Op op = std::array{Op::nn, Op::tn, Op::nt}.at(static_cast<size_t>(test::uniform(random, 0, 2)));
    const Problem problem = shape(op, some_size(random), some_size(random), some_size(random));
    const std::int64_t r = reduction(problem);
    const Slices slices = contract_of(problem, sm90_set).slices;
    CAPTURE(static_cast<int>(op), problem.m, problem.k, problem.n, slices.count, slices.length);
    REQUIRE(slices.count >= 1);
    if (r == 0) {
      REQUIRE(slices.count == 1);
      REQUIRE(slices.length == 0);
      continue;
    }
    REQUIRE(slices.length > 0);
    REQUIRE(slices.length % 64 == 0);
    REQUIRE((slices.count - 1) * slices.length < r);  // the last is not empty
    REQUIRE(slices.count * slices.length >= r);       // and reaches the end
  }
}

// Catches a forward contract that looks at the batch: a row must not depend on how many there are (law 2).
TEST_CASE("forward slices do not depend on the batch", "[contract]") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  for (int round = 0; round < 2000; ++round) {
    const Op op = test::uniform(random, 0, 1) == 0 ? Op::nn : Op::nt;
    const std::int64_t k = some_size(random);
    const std::int64_t n = some_size(random);
    const std::int64_t m = some_size(random);
    CAPTURE(static_cast<int>(op), m, k, n);
    REQUIRE(count(op, 1, k, n) == count(op, m, k, n));
    REQUIRE(length(op, 1, k, n) == length(op, m, k, n));
  }
}

// Catches a renamed contract: the name is part of every route identity.
TEST_CASE("the contract's name carries its revision", "[contract]") {
  CHECK(to_string(contract_of(shape(Op::nn, 1, 1, 1), sm90_set)) == "F32_FMA/1");
  CHECK(to_string(contract_of(shape(Op::nn, 1, 1, 1), sm80_set)) == "F32_FMA/1");
  const auto name = [](Type type, const TensorSet& set) { return to_string(contract_for(type, set)); };
  CHECK(name(Type::bf16, sm90_set) == "MMA_F32/L16F25/1");
  CHECK(name(Type::f16, sm80_set) == "MMA_F32/L8F24/1");
  CHECK(name(Type::tf32, sm90_set) == "TF32/L8F25/1");
  CHECK(name(Type::tf32, sm80_set) == "TF32/L4F24/1");
}
