// evaluate() against evaluate_element(), which shares no code with it, bit for bit.
#include "numeric/evaluator.hpp"

#include <limits>
#include <thread>

#include "base/error.hpp"
#include "support/product.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr std::array all_ops{Op::nn, Op::tn, Op::nt};

template <size_t N, typename T>
T one_of(Random& random, const std::array<T, N>& choices) {
  return choices.at(static_cast<size_t>(uniform(random, 0, static_cast<std::int64_t>(N) - 1)));
}

std::int64_t some_extent(Random& random) {
  constexpr std::array<std::int64_t, 14> edges{0, 1, 1, 2, 3, 5, 7, 8, 12, 16, 17, 32, 33, 65};
  return uniform(random, 0, 2) == 0 ? uniform(random, 0, 130) : one_of(random, edges);
}

std::int64_t some_reduction(Random& random) {
  constexpr std::array<std::int64_t, 14> edges{0, 1, 2, 63, 64, 65, 127, 255, 256, 257, 511, 513, 1025, 2049};
  return uniform(random, 0, 2) == 0 ? uniform(random, 0, 3000) : one_of(random, edges);
}

Shape make_shape(Op op, std::int64_t rows, std::int64_t columns, std::int64_t reduction) {
  switch (op) {
    case Op::tn:
      return {op, reduction, rows, columns};
    case Op::nt:
      return {op, rows, columns, reduction};
    case Op::nn:
      break;
  }
  return {op, rows, reduction, columns};
}

Shape some_shape(Random& random) {
  constexpr std::int64_t most_work = 400'000;
  const std::int64_t rows = some_extent(random);
  const std::int64_t columns = some_extent(random);
  std::int64_t steps = some_reduction(random);
  if (rows * columns * steps > most_work) steps = most_work / (rows * columns);
  return make_shape(one_of(random, all_ops), rows, columns, steps);
}

float some_factor(Random& random) {
  const std::array<float, 8> factors{0.0F,
                                     -0.0F,
                                     1.0F,
                                     -1.0F,
                                     0.37F,
                                     1e-39F,
                                     std::numeric_limits<float>::quiet_NaN(),
                                     std::numeric_limits<float>::infinity()};
  return one_of(random, factors);
}

template <typename Fill>
Product some_product(Random& random, Fill&& fill) {
  const Shape shape = some_shape(random);
  const bool bias = shape.op == Op::nn && uniform(random, 0, 1) == 1;
  const float alpha = uniform(random, 0, 1) == 0 ? 1.0F : some_factor(random);
  const float beta = uniform(random, 0, 1) == 0 ? 0.0F : some_factor(random);
  Product product = make_product(random, shape, bias, alpha, beta, fill);
  product.input.slices = cut(product.input.reduction, uniform(random, 1, 9));
  product.input.fold = uniform(random, 0, 1) == 0 ? Fold::f32 : Fold::f64;
  return product;
}

void check_all_ways(const Product& product) {
  const EvaluatorInput& in = product.input;
  CAPTURE(in.rows, in.columns, in.reduction, in.alpha, in.beta, in.bias != nullptr, in.out_leading);
  CAPTURE(in.a_strides.row, in.a_strides.column, in.b_strides.row, in.b_strides.column);
  CAPTURE(in.slices.count, in.slices.length, static_cast<int>(in.fold));
  const Guarded wanted = expected(product);
  for (const Isa isa : supported_isas()) {
    for (const int threads : {1, 4}) {
      CAPTURE(name_of(isa), threads);
      REQUIRE(evaluated(product, isa, threads).same_bits(wanted));
    }
  }
}

/// One output element, from chains given step by step.
struct Chain {
  std::vector<float> a, b;
  std::int64_t slices = 1;
  Fold fold = Fold::f32;
  float alpha = 1, beta = 0, old = 0;
};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// The bits all evaluators agree on.
std::uint32_t result_of(Chain chain) {
  const auto steps = static_cast<std::int64_t>(chain.a.size());
  EvaluatorInput input{.rows = 1,
                       .columns = 1,
                       .reduction = steps,
                       .a = chain.a.data(),
                       .a_strides = {steps, 1},
                       .b = chain.b.data(),
                       .b_strides = {1, 1},
                       .out_leading = 1,
                       .alpha = chain.alpha,
                       .beta = chain.beta,
                       .slices = cut(steps, chain.slices),
                       .fold = chain.fold};
  float old = chain.old;
  input.out = &old;
  const float element = evaluate_element(input, 0, 0);
  for (const Isa isa : supported_isas()) {
    float out = chain.old;
    input.out = &out;
    evaluate(input, isa, 1);
    CAPTURE(name_of(isa));
    REQUIRE(bits(out) == bits(element));
  }
  return bits(element);
}

std::vector<float> repeat(float value, size_t count) { return std::vector<float>(count, value); }

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();

}  // namespace

// Catches any change of bits by blocking, packing, tails, strides, threads or instruction set, and any write outside
// the output: guards and gaps are part of what is compared.
TEST_CASE("every evaluator gives the bits of the plain loop", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    check_all_ways(some_product(random, [&](std::span<float> values) { fill_normal(random, values); }));
  }
}

// Catches flushed subnormals, lost signs of zeros, NaNs with a payload, and padding that takes part in a chain.
TEST_CASE("exceptional values come out alike everywhere", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    check_all_ways(some_product(random, [&](std::span<float> values) { fill_exceptional(random, values); }));
  }
}

// Catches mistakes between blocks: outputs of several blocks each way, with a ragged edge.
TEST_CASE("outputs of several blocks are complete", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const Op op : all_ops) {
    const Shape shape = make_shape(op, uniform(random, 380, 420), uniform(random, 780, 820), 3);
    check_all_ways(
        make_product(random, shape, op == Op::nn, 1.5F, 1, [&](auto values) { fill_normal(random, values); }));
  }
}

// Catches code that assumes one of the strides to be 1, or positive.
TEST_CASE("any strides are served", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  Product product = make_product(random, {Op::nn, 19, 70, 37}, true, 1, 0, [&](auto v) { fill_normal(random, v); });
  EvaluatorInput& in = product.input;
  in.slices = cut(in.reduction, 2);

  SECTION("rows and steps backwards") {
    in.a =
        static_cast<const float*>(in.a) + (in.rows - 1) * in.a_strides.row + (in.reduction - 1) * in.a_strides.column;
    in.a_strides = {-in.a_strides.row, -in.a_strides.column};
    in.b = static_cast<const float*>(in.b) + (in.columns - 1) * in.b_strides.column;
    in.b_strides.column = -in.b_strides.column;
    check_all_ways(product);
  }
  SECTION("every second column") {
    in.columns /= 2;
    in.b_strides.column = 2;
    check_all_ways(product);
  }
  SECTION("one row for all") {
    in.a_strides.row = 0;
    in.b_strides.row = 0;
    check_all_ways(product);
  }
}

// Catches a wrong element loop, the reference of all the others: sums of small integers are exact in any order.
TEST_CASE("sums of integers are exact", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const auto fill = [&](std::span<float> values) {
    for (float& value : values) value = static_cast<float>(uniform(random, -20, 20));
  };
  for (const Op op : all_ops) {
    const std::int64_t m = 9;
    const std::int64_t k = 14;
    const std::int64_t n = 11;
    std::vector<float> a(static_cast<size_t>(op == Op::nt ? m * n : m * k));
    std::vector<float> b(static_cast<size_t>(op == Op::tn ? m * n : k * n));
    std::vector<float> bias(static_cast<size_t>(n));
    fill(a);
    fill(b);
    fill(bias);
    Problem problem{.op = op, .bias = op == Op::nn, .m = m, .k = k, .n = n, .alpha = 2, .beta = 3};
    problem.lda = layout_a(problem).columns;
    problem.ldb = layout_b(problem).columns;
    problem.ldout = output_columns(problem);
    std::vector<float> old(static_cast<size_t>(output_rows(problem) * output_columns(problem)));
    fill(old);
    std::vector<float> out = old;

    mgemm_operands operands{};
    operands.a = reinterpret_cast<std::uintptr_t>(a.data());
    operands.b = reinterpret_cast<std::uintptr_t>(b.data());
    operands.bias = op == Op::nn ? reinterpret_cast<std::uintptr_t>(bias.data()) : 0;
    operands.out = reinterpret_cast<std::uintptr_t>(out.data());
    const EvaluatorInput input = evaluator_input(problem, contract_of(problem, sm90_set), operands);
    evaluate(input, best_isa(), 1);

    // The table of operations written out: X [M,K], W [K,N], dY [M,N].
    const auto at = [](const std::vector<float>& v, std::int64_t i) { return v[static_cast<size_t>(i)]; };
    for (std::int64_t i = 0; i < output_rows(problem); ++i) {
      for (std::int64_t j = 0; j < output_columns(problem); ++j) {
        float sum = 0;
        if (op == Op::nn) {
          for (std::int64_t r = 0; r < k; ++r) sum += at(a, i * k + r) * at(b, r * n + j);
        } else if (op == Op::tn) {
          for (std::int64_t r = 0; r < m; ++r) sum += at(a, r * k + i) * at(b, r * n + j);
        } else {
          for (std::int64_t r = 0; r < n; ++r) sum += at(a, i * n + r) * at(b, j * n + r);
        }
        const std::int64_t place = i * output_columns(problem) + j;
        const float wanted = 2 * sum + (op == Op::nn ? at(bias, j) : 0.0F) + 3 * at(old, place);
        REQUIRE(at(out, place) == wanted);
      }
    }
  }
}

// Catches the wrong contract or a wrong reading of a problem.
TEST_CASE("a problem's evaluator input carries its contract", "[evaluator]") {
  const Problem problem{
      .op = Op::tn, .m = 4096, .k = 100, .n = 50, .lda = 101, .ldb = 52, .ldout = 53, .alpha = 2, .beta = 1};
  mgemm_operands operands{};
  operands.a = 0x1000;
  operands.b = 0x2000;
  operands.out = 0x3000;
  const EvaluatorInput in = evaluator_input(problem, contract_of(problem, sm90_set), operands);
  CHECK((in.rows == 100 && in.columns == 50 && in.reduction == 4096));
  CHECK((in.a_strides.row == 1 && in.a_strides.column == 101));
  CHECK((in.b_strides.row == 52 && in.b_strides.column == 1));
  CHECK(in.out_leading == 53);
  CHECK((in.alpha == 2 && in.beta == 1));
  CHECK((in.slices.count == 8 && in.slices.length == 512));
  CHECK(in.fold == Fold::f64);
  CHECK(reinterpret_cast<std::uintptr_t>(in.a) == 0x1000);
  CHECK(reinterpret_cast<std::uintptr_t>(in.b) == 0x2000);
  CHECK(reinterpret_cast<std::uintptr_t>(in.out) == 0x3000);
  CHECK(in.bias == nullptr);
}

// Catches flushing, in the chain and at its end.
TEST_CASE("chains end in subnormals", "[evaluator]") {
  CHECK(result_of({.a = {0x1p-149F}, .b = {1}}) == 1U);
  CHECK(result_of({.a = {0x1p-100F}, .b = {-0x1p-49F}}) == 0x80000001U);
  CHECK(result_of({.a = repeat(0x1p-149F, 300), .b = repeat(1, 300)}) == 300U);
  CHECK(result_of({.a = {0x1p-126F, -0x1p-127F}, .b = {1, 1}}) == 0x00400000U);
  CHECK(result_of({.a = {0x1p-149F}, .b = {1}, .alpha = 3}) == 3U);
  CHECK(result_of({.a = {0x1p-149F}, .b = {1}, .beta = 0x1p-100F, .old = 0x1p-49F}) == 2U);
}

// Catches a start other than +0, padding with +0 (which would turn -0 into +0), and folds that start from +0.
TEST_CASE("chains end in zeros of either sign", "[evaluator]") {
  constexpr std::uint32_t minus_zero = 0x80000000U;
  CHECK(result_of({.a = {-0.0F}, .b = {1}}) == 0U);                 // +0 + -0
  CHECK(result_of({.a = {-1e-30F}, .b = {1e-30F}}) == minus_zero);  // a product too small, added to +0, rounds to -0
  for (const size_t steps : {2U, 63U, 64U, 65U, 300U}) {
    CHECK(result_of({.a = repeat(-1e-30F, steps), .b = repeat(1e-30F, steps)}) == minus_zero);
    for (const Fold fold : {Fold::f32, Fold::f64}) {
      CHECK(result_of({.a = repeat(-1e-30F, steps), .b = repeat(1e-30F, steps), .slices = 3, .fold = fold}) ==
            minus_zero);
    }
  }
  CHECK(result_of({.a = {1, -1}, .b = {1, 1}}) == 0U);
  CHECK(result_of({.a = {}, .b = {}}) == 0U);
  CHECK(result_of({.a = {}, .b = {}, .alpha = -1}) == minus_zero);
}

// Catches saturation, infinities that are lost, and NaNs other than the canonical one.
TEST_CASE("chains overflow to infinities and NaN", "[evaluator]") {
  CHECK(result_of({.a = {largest, largest}, .b = {1, 1}}) == bits(infinity));
  CHECK(result_of({.a = {-largest}, .b = {2}}) == bits(-infinity));
  CHECK(result_of({.a = {largest, -largest}, .b = {2, 1}}) == bits(infinity));
  CHECK(result_of({.a = {infinity, -infinity}, .b = {1, 1}}) == canonical_nan_bits);
  CHECK(result_of({.a = {0}, .b = {infinity}}) == canonical_nan_bits);
  CHECK(result_of({.a = {std::bit_cast<float>(0xffc12345U)}, .b = {1}}) == canonical_nan_bits);
  CHECK(result_of({.a = {std::bit_cast<float>(0x7f800001U)}, .b = {1}}) == canonical_nan_bits);  // signalling
  // The product does not round before the addition: largest * 2 - largest is no infinity.
  CHECK(result_of({.a = {-largest, largest}, .b = {1, 2}}) == bits(largest));
}

// Catches shortcuts of the epilogue, and a beta of 0 that reads.
TEST_CASE("alpha and beta at their special values", "[evaluator]") {
  CHECK(result_of({.a = {infinity}, .b = {1}, .alpha = 0}) == canonical_nan_bits);
  CHECK(result_of({.a = {2}, .b = {1}, .alpha = nan_value}) == canonical_nan_bits);
  CHECK(result_of({.a = {2}, .b = {1}, .alpha = -0.0F}) == 0x80000000U);
  CHECK(result_of({.a = {2}, .b = {1}, .alpha = 3}) == bits(6));
  CHECK(result_of({.a = {2}, .b = {1}, .beta = 0, .old = nan_value}) == bits(2));
  CHECK(result_of({.a = {2}, .b = {1}, .beta = -0.0F, .old = nan_value}) == bits(2));
  CHECK(result_of({.a = {2}, .b = {1}, .beta = nan_value, .old = 0}) == canonical_nan_bits);
  CHECK(result_of({.a = {2}, .b = {1}, .beta = infinity, .old = 0}) == canonical_nan_bits);
  CHECK(result_of({.a = {2}, .b = {1}, .beta = 3, .old = 5}) == bits(17));
  // alpha * dot rounds before the bias or beta term: 3 * (1 + 2^-23) is a tie that goes up to 3 + 2^-21.
  CHECK(result_of({.a = {1 + 0x1p-23F}, .b = {1}, .alpha = 3, .beta = -1, .old = 3}) == bits(0x1p-21F));
}

// Catches a fold of the wrong precision or order: three slices of 64 steps whose sums are 1, 2^-24 and 2^-24.
TEST_CASE("slices are folded in ascending order, in f32 or in f64", "[evaluator]") {
  Chain chain{.a = repeat(0, 192), .b = repeat(1, 192), .slices = 3};
  chain.a[0] = 1;
  chain.a[64] = 0x1p-24F;
  chain.a[128] = 0x1p-24F;
  chain.fold = Fold::f32;
  CHECK(result_of(chain) == bits(1));
  chain.fold = Fold::f64;
  CHECK(result_of(chain) == bits(1 + 0x1p-23F));
  // The other way round the small ones meet first, and f32 keeps them.
  std::reverse(chain.a.begin(), chain.a.end());
  chain.fold = Fold::f32;
  CHECK(result_of(chain) == bits(1 + 0x1p-23F));
}

// Catches an evaluator that touches operands of an empty reduction or writes to an empty output.
TEST_CASE("empty sizes", "[evaluator]") {
  for (const Isa isa : supported_isas()) {
    CAPTURE(name_of(isa));
    evaluate({}, isa, 0);
    evaluate({.rows = 5, .reduction = 3, .slices = cut(3, 1)}, isa, 0);
    evaluate({.columns = 5, .reduction = 3, .slices = cut(3, 1)}, isa, 0);

    std::array<float, 6> out{7, 7, 7, 7, 7, 7};
    const std::array<float, 3> bias{1, 2, nan_value};
    evaluate({.rows = 2, .columns = 3, .bias = bias.data(), .out = out.data(), .out_leading = 3, .slices = cut(0, 1)},
             isa, 0);
    CHECK((out[0] == 1 && out[1] == 2 && out[3] == 1 && out[4] == 2));
    CHECK((bits(out[2]) == canonical_nan_bits && bits(out[5]) == canonical_nan_bits));
  }
}

// Catches evaluate_elements() giving an element to the wrong place, on one thread or several.
TEST_CASE("many elements are the same as one by one", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  Product product = make_product(random, {Op::nt, 30, 40, 900}, false, 2, 1, [&](auto v) { fill_normal(random, v); });
  product.input.out = product.out.data();
  std::vector<std::int64_t> rows(777);
  std::vector<std::int64_t> columns(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = uniform(random, 0, 29);
    columns[i] = uniform(random, 0, 39);
  }
  for (const int threads : {0, 1, 5}) {
    std::vector<float> values(rows.size(), poison());
    evaluate_elements(product.input, rows, columns, values, threads);
    for (size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(bits(values[i]) == bits(evaluate_element(product.input, rows[i], columns[i])));
    }
  }
  evaluate_elements(product.input, {}, {}, {}, 0);
}

// Catches shared state between calls. The checks are made on this thread because those of the framework must be.
TEST_CASE("several threads evaluate at once", "[evaluator]") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  constexpr size_t callers = 8;
  std::vector<Product> products;
  std::vector<Guarded> wanted;
  for (size_t i = 0; i < callers; ++i) {
    const Shape shape = make_shape(one_of(random, all_ops), uniform(random, 1, 90), uniform(random, 1, 150), 40);
    products.push_back(make_product(random, shape, false, 1, 1, [&](auto v) { fill_normal(random, v); }));
    wanted.push_back(expected(products.back()));
  }
  std::array<int, callers> mismatches{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        for (const Isa isa : supported_isas()) {
          if (!evaluated(products[i], isa, 4).same_bits(wanted[i])) ++mismatches.at(i);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : mismatches) CHECK(count == 0);
}

// Catches a crash where an error belongs: instruction sets this processor lacks.
TEST_CASE("an instruction set that is not there is refused", "[evaluator]") {
  CHECK(is_supported(Isa::generic));
  CHECK(is_supported(best_isa()));
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (!is_supported(isa)) CHECK_THROWS_AS(evaluate({}, isa, 1), Error);
  }
}
