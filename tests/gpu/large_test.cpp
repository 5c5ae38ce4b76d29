// Operands of more than 2^31 elements. They are made of one random block repeated, so that the host knows every element
// without holding them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/gpu.hpp"
#include "support/random.hpp"

using namespace mgemm::test;
using mamba_gemm::Buffer;
using mamba_gemm::Context;

namespace {

class Pattern {
 public:
  // The length shares no factor with usual leading dimensions, so that rows differ.
  explicit Pattern(Random& random) : block_(16777259) { fill_normal(random, block_); }

  float at(std::int64_t index) const {
    return block_.at(static_cast<size_t>(index % static_cast<std::int64_t>(block_.size())));
  }
  void fill(const Context& context, const Buffer& buffer) const {
    const auto length = static_cast<std::int64_t>(block_.size()) * 4;
    for (std::int64_t done = 0; done < buffer.bytes(); done += length) {
      const std::int64_t bytes = std::min(length, buffer.bytes() - done);
      mamba_gemm::check(
          mgemm_upload(context.handle(), buffer.address() + static_cast<std::uint64_t>(done), block_.data(), bytes));
    }
  }

 private:
  std::vector<float> block_;
};

struct Extents {
  std::int64_t rows, columns, depth;  // of the output, and the reduction
};

/// Runs a problem without slices on pattern data and compares sampled elements of the live output with a plain chain.
void check_large(const mgemm_problem& problem, const Extents& e, std::int64_t a_elements, std::int64_t b_elements) {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed, mamba_gemm::to_string(problem));
  Random random(seed);
  const Pattern pattern(random);
  const Context gpu = Context::cuda();
  const Buffer a(gpu, a_elements * 4);
  const Buffer b(gpu, b_elements * 4);
  const Buffer out(gpu, e.rows * e.columns * 4);
  pattern.fill(gpu, a);
  pattern.fill(gpu, b);
  mamba_gemm::Launch launch(gpu, problem, mamba_gemm::operands(a.address(), b.address(), out.address()));
  REQUIRE(launch.describe().slices == 1);
  launch.run();
  const bool tn = problem.op == MGEMM_OP_TN;
  const bool nt = problem.op == MGEMM_OP_NT;
  for (int sample = 0; sample < 200; ++sample) {
    const std::int64_t i = sample == 0 ? e.rows - 1 : uniform(random, 0, e.rows - 1);
    const std::int64_t j = sample == 0 ? e.columns - 1 : uniform(random, 0, e.columns - 1);
    float expected = 0;
    for (std::int64_t r = 0; r < e.depth; ++r) {
      const float x = pattern.at(tn ? r * e.rows + i : i * e.depth + r);
      const float y = pattern.at(nt ? j * e.depth + r : r * e.columns + j);
      expected = std::fma(x, y, expected);
    }
    float got = 0;
    mamba_gemm::check(mgemm_download(gpu.handle(), &got,
                                     out.address() + static_cast<std::uint64_t>(i * e.columns + j) * 4, sizeof got));
    CAPTURE(i, j, got, expected);
    REQUIRE(std::memcmp(&got, &expected, sizeof got) == 0);
  }
  const mgemm_verify_report report = launch.verify(400, seed);
  REQUIRE(report.checked >= 400);
  REQUIRE(report.mismatches == 0);
}

}  // namespace

// Each catches 32-bit arithmetic in an offset of the named operand.
TEST_CASE("an a of more than 2^31 elements") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  check_large(mamba_gemm::make_problem(MGEMM_OP_NN, 4300000, 501, 70), {4300000, 70, 501}, 4300000LL * 501, 501LL * 70);
}

TEST_CASE("a b of more than 2^31 elements") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  check_large(mamba_gemm::make_problem(MGEMM_OP_NT, 37, 4300000, 503), {37, 4300000, 503}, 37LL * 503, 4300000LL * 503);
}

TEST_CASE("an output of more than 2^31 elements") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  mgemm_problem problem = mamba_gemm::make_problem(MGEMM_OP_TN, 33, 47001, 46003);
  problem.beta = 0;
  check_large(problem, {47001, 46003, 33}, 33LL * 47001, 33LL * 46003);
}
