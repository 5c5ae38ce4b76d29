// The caller's floating-point environment must change neither the bits nor be changed.
#include "numeric/float_environment.hpp"

#include <cfenv>

#include "support/product.hpp"
#include "support/test.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using namespace mgemm;
using namespace mgemm::test;

/// Values whose products are subnormal, overflow and round: all that an environment can spoil.
Product sensitive_product(Random& random) {
  Product product = make_product(random, {Op::nn, 40, 600, 90}, true, 0.3F, 0.7F,
                                 [&](std::span<float> values) { fill_exceptional(random, values); });
  product.input.slices = cut(600, 2);
  product.input.fold = Fold::f64;
  return product;
}

/// What evaluate() and evaluate_element() gave while the caller's environment was another.
struct Results {
  std::vector<Guarded> whole;
  float element = 0;
};

Results compute(const Product& product) {
  Results results;
  for (const Isa isa : supported_isas()) {
    for (const int threads : {1, 4}) results.whole.push_back(evaluated(product, isa, threads));
  }
  // 2^-140 + 2^-149 / 3 rounded: shows flushing and the rounding direction.
  const std::array<float, 2> a{0x1p-140F, 0x1p-100F};
  const std::array<float, 2> b{1, 0x1p-49F / 3};
  const EvaluatorInput input{.rows = 1,
                             .columns = 1,
                             .reduction = 2,
                             .a = a.data(),
                             .a_strides = {2, 1},
                             .b = b.data(),
                             .b_strides = {1, 1},
                             .slices = cut(2, 1)};
  results.element = evaluate_element(input, 0, 0);
  return results;
}

void check(const Results& results, const Guarded& wanted) {
  for (const Guarded& out : results.whole) CHECK(out.same_bits(wanted));
  CHECK(std::bit_cast<std::uint32_t>(results.element) == 512U);  // 2^-140
}

}  // namespace

// Catches an entry or a worker that computes with the caller's rounding direction, or leaves its own behind.
TEST_CASE("a caller that rounds upward", "[float_environment]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Product product = sensitive_product(random);
  const Guarded wanted = expected(product);
  std::fesetround(FE_UPWARD);
  const Results results = compute(product);
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(after == FE_UPWARD);
  check(results, wanted);
}

#if defined(__x86_64__)
// Catches flushing inherited from the caller, and a trap set by it that fires inside (the data overflow).
TEST_CASE("a caller that flushes subnormals or traps exceptions", "[float_environment]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Product product = sensitive_product(random);
  const Guarded wanted = expected(product);
  const unsigned before = _mm_getcsr();
  constexpr unsigned flush_both = 0x8040U;
  constexpr unsigned trap_invalid_and_overflow = 0x0480U;
  constexpr unsigned all_flags = 0x003fU;
  for (const unsigned control : {before | flush_both, before & ~(trap_invalid_and_overflow | all_flags)}) {
    CAPTURE(control);
    _mm_setcsr(control);
    const Results results = compute(product);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK((after & ~all_flags) == (control & ~all_flags));
    check(results, wanted);
  }
}

// Catches an environment that is not the contract's, or does not nest.
TEST_CASE("the environment is set and put back", "[float_environment]") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0xe040U);  // toward zero, both flushes
  const unsigned outer = _mm_getcsr();
  unsigned inner = 0;
  {
    const FloatEnvironment first;
    {
      const FloatEnvironment second;
      inner = _mm_getcsr();
    }
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(inner == 0x1f80U);
  CHECK(after == outer);
}
#endif
