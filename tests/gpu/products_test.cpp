#include <algorithm>
#include <array>
#include <numeric>

#include "gpu/gpu.hpp"
#include "support/device_product.hpp"

using namespace mgemm::test;
using mamba_gemm::Context;

namespace {

/// How many random problems each operation gets in a type.
struct Work {
  std::int32_t type;
  int problems;
  std::int64_t most;  // rows, columns or steps
};
constexpr std::array all_work{Work{MGEMM_TYPE_F32, 100, 700}, Work{MGEMM_TYPE_BF16, 1000, 400},
                              Work{MGEMM_TYPE_F16, 1000, 400}, Work{MGEMM_TYPE_TF32, 1000, 400}};
constexpr std::array ops{MGEMM_OP_NN, MGEMM_OP_TN, MGEMM_OP_NT};

/// Small, large, and often odd or next to a tile's edge.
std::int64_t random_extent(Random& random, std::int64_t most) {
  switch (uniform(random, 0, 5)) {
    case 0:
      return uniform(random, 0, 4);
    case 1:
      return 16 * uniform(random, 0, most / 16) + uniform(random, -1, 1) + 1;
    default:
      return uniform(random, 0, most);
  }
}

mgemm_problem random_problem(Random& random, const Work& work, std::int32_t op, bool exceptional) {
  mgemm_problem problem =
      mamba_gemm::make_problem(op, random_extent(random, work.most), random_extent(random, work.most),
                               random_extent(random, work.most), work.type);
  if (uniform(random, 0, 1) == 0) problem.out_type = MGEMM_TYPE_F32;
  problem.bias = op == MGEMM_OP_NN ? static_cast<std::int32_t>(uniform(random, 0, 1)) : 0;
  problem.alpha = random_scalar(random, exceptional);
  problem.beta = random_scalar(random, exceptional);
  return problem;
}

void compare_with_evaluator(const Work& work, std::int32_t op, int rounds, bool exceptional) {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context gpu = Context::cuda();
  const Context reference = reference_of_board();
  for (int round = 0; round < rounds; ++round) {
    mgemm_problem problem = random_problem(random, work, op, exceptional);
    ProductOptions options;
    options.exceptional = exceptional;
    if (round % 2 == 0) {
      // What the fastest kernels ask for.
      options.row_alignment = 16 / mamba_gemm::element_bytes(problem.in_type);
      options.out_alignment = 8;
      std::int64_t& columns = op == MGEMM_OP_NT ? problem.k : problem.n;
      if (round % 4 == 0) columns = (columns + 7) / 8 * 8;
    }
    // Or one operand is as wide copies want it, and the other is not.
    if (round % 8 == 1) options.a_alignment = 16 / mamba_gemm::element_bytes(problem.in_type);
    if (round % 8 == 5) options.b_alignment = 16 / mamba_gemm::element_bytes(problem.in_type);
    const DeviceProduct product = make_device_product(random, problem, options);
    CAPTURE(round, mamba_gemm::to_string(product.problem), product.a.shift, product.b.shift, product.out.shift);
    const auto got = run_on(gpu, product);
    const auto expected = run_on(reference, product);
    REQUIRE(got == expected);
  }
}

}  // namespace

// Catches any kernel, layout, alignment, tail or epilogue that does not give the evaluator's bits, and any write
// outside the output.
TEST_CASE("random problems give the evaluator's bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  for (const Work& work : all_work) {
    for (const std::int32_t op : ops) compare_with_evaluator(work, op, rounds(work.problems), false);
  }
}

// Catches a NaN with another payload, a flushed subnormal, a lost -0, a padded step that touches a sum.
TEST_CASE("exceptional values give the evaluator's bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  for (const Work& work : all_work) {
    for (const std::int32_t op : ops) compare_with_evaluator(work, op, rounds(work.problems / 2), true);
  }
}

// Catches a kernel whose chain depends on how many rows there are or where a row lies in the batch.
TEST_CASE("a row's bits do not depend on its batch") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context gpu = Context::cuda();
  constexpr std::int64_t batch = 257;
  struct Forward {
    std::int32_t type;
    std::int64_t columns;
  };
  constexpr std::array forwards{Forward{MGEMM_TYPE_F32, 80},   Forward{MGEMM_TYPE_F32, 333},
                                Forward{MGEMM_TYPE_F32, 2050}, Forward{MGEMM_TYPE_BF16, 80},
                                Forward{MGEMM_TYPE_BF16, 333}, Forward{MGEMM_TYPE_BF16, 336},
                                Forward{MGEMM_TYPE_F16, 331},  Forward{MGEMM_TYPE_F16, 2048},
                                Forward{MGEMM_TYPE_TF32, 80},  Forward{MGEMM_TYPE_TF32, 335}};
  for (const std::int32_t op : {MGEMM_OP_NN, MGEMM_OP_NT}) {
    for (const auto& [type, columns] : forwards) {
      mgemm_problem problem = mamba_gemm::make_problem(op, batch, 1300, 1300, type);
      (op == MGEMM_OP_NN ? problem.n : problem.k) = columns;
      problem.alpha = 0.75F;
      const DeviceProduct whole = make_device_product(random, problem, {});
      GuardedMatrix expected = whole.out;
      expected.words = run_on(gpu, whole);
      for (const std::int64_t rows : {1, 3, 64, 129, 1000}) {
        // Every row of the whole, at random places of other batches whose remaining rows are other data.
        const std::int64_t taken = std::min(batch, std::max<std::int64_t>(1, rows - 1));
        for (std::int64_t first = 0; first < batch; first += taken) {
          problem.m = rows;
          DeviceProduct part = make_device_product(random, problem, {.b = &whole.b});
          std::vector<std::int64_t> places(static_cast<size_t>(rows));
          std::iota(places.begin(), places.end(), 0);
          std::shuffle(places.begin(), places.end(), random);
          const std::int64_t count = std::min(taken, batch - first);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t place = places.at(static_cast<size_t>(i));
            for (std::int64_t j = 0; j < part.a.columns; ++j) part.a.set(place, j, whole.a.at(first + i, j));
          }
          GuardedMatrix got = part.out;
          got.words = run_on(gpu, part);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t place = places.at(static_cast<size_t>(i));
            CAPTURE(op, columns, rows, place, first + i);
            REQUIRE(got.row(place) == expected.row(first + i));
          }
        }
      }
    }
  }
}

// Catches results that depend on the run, on the way of launching, or on the stream.
TEST_CASE("eager, prepared, rebound and other-stream runs give the same bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  Context gpu = Context::cuda();
  const Context other = Context::cuda();
  for (const char* text :
       {"nn:f32:300x700x200:bias:alpha=0.5:beta=0.25", "tn:f32:2100x130x90", "nt:f32:65x90x1030",
        "nn:bf16:300x704x200:bias:alpha=0.5:beta=0.25", "tn:f16:2100x130x90", "nt:bf16:65x91x1030:out=f32",
        "nn:tf32:300x704x200:bias", "tn:tf32:2100x130x90", "nt:tf32:65x91x1030"}) {
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    CAPTURE(text);
    const auto expected = run_on(gpu, product);
    {
      const BoundProduct bound(gpu, product);
      gpu.gemm(product.problem, bound.operands());
      REQUIRE(bound.result() == expected);
    }
    {
      const BoundProduct first(gpu, product);
      const BoundProduct second(gpu, product);
      mamba_gemm::Launch launch(gpu, product.problem, first.operands());
      launch.bind(second.operands());
      launch.validate();
      launch.run_on(other.stream());
      gpu.set_stream(gpu.stream());
      gpu.wait_stream(other.stream());
      REQUIRE(second.result() == expected);
      REQUIRE(first.result() == product.out.words);
    }
    for (int again = 0; again < 5; ++again) REQUIRE(run_on(gpu, product) == expected);
  }
}
