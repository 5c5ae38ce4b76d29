// The reference device through the public interface.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <nlohmann/json.hpp>

#include "support/device_product.hpp"

using namespace mgemm::test;
using mamba_gemm::Context;

namespace {

constexpr std::array all_types{MGEMM_TYPE_F32, MGEMM_TYPE_BF16, MGEMM_TYPE_F16, MGEMM_TYPE_TF32};

mgemm_problem random_problem(Random& random) {
  const auto op = static_cast<std::int32_t>(uniform(random, 1, 3));
  const auto type = all_types.at(static_cast<size_t>(uniform(random, 0, 3)));
  mgemm_problem problem =
      mamba_gemm::make_problem(op, uniform(random, 0, 90), uniform(random, 0, 90), uniform(random, 0, 90), type);
  if (uniform(random, 0, 1) == 0) problem.out_type = MGEMM_TYPE_F32;
  // Long reductions, so that there are slices.
  if (uniform(random, 0, 4) == 0) {
    (op == MGEMM_OP_NN ? problem.k : op == MGEMM_OP_TN ? problem.m : problem.n) = uniform(random, 500, 2600);
  }
  problem.bias = op == MGEMM_OP_NN ? static_cast<std::int32_t>(uniform(random, 0, 1)) : 0;
  problem.alpha = random_scalar(random, true);
  problem.beta = random_scalar(random, true);
  return problem;
}

}  // namespace

// Catches a product that differs from the contract's plain loops, and any write outside the output.
TEST_CASE("products give what mgemm_evaluate says of every element") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference();
  for (int round = 0; round < 150; ++round) {
    ProductOptions options;
    options.exceptional = round % 3 == 0;
    const DeviceProduct product = make_device_product(random, random_problem(random), options);
    CAPTURE(round, mamba_gemm::to_string(product.problem));
    GuardedMatrix expected = product.out;
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> columns;
    for (std::int64_t i = 0; i < expected.rows; ++i) {
      for (std::int64_t j = 0; j < expected.columns; ++j) {
        rows.push_back(i);
        columns.push_back(j);
      }
    }
    const auto address = [](const GuardedMatrix& matrix) { return mamba_gemm::host_address(matrix.data()); };
    const mgemm_operands operands = mamba_gemm::operands(address(product.a), address(product.b), address(product.out),
                                                         product.problem.bias == 1 ? address(product.bias) : 0);
    std::vector<float> values(rows.size());
    mamba_gemm::check(mgemm_evaluate(MGEMM_PROFILE_SM90, &product.problem, &operands,
                                     static_cast<std::int64_t>(rows.size()), rows.data(), columns.data(),
                                     values.data()));
    for (size_t i = 0; i < rows.size(); ++i) expected.set(rows[i], columns[i], values[i]);
    REQUIRE(run_on(reference, product) == expected.words);
  }
}

// Catches a chain that depends on the batch (law 2), on the reference device.
constexpr std::array<std::pair<std::int32_t, std::int32_t>, 6> all_forward{{{MGEMM_OP_NN, MGEMM_TYPE_F32},
                                                                            {MGEMM_OP_NN, MGEMM_TYPE_BF16},
                                                                            {MGEMM_OP_NN, MGEMM_TYPE_F16},
                                                                            {MGEMM_OP_NT, MGEMM_TYPE_F32},
                                                                            {MGEMM_OP_NT, MGEMM_TYPE_BF16},
                                                                            {MGEMM_OP_NT, MGEMM_TYPE_TF32}}};
TEST_CASE("a row's bits on the reference device do not depend on its batch") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference();
  for (const auto& [op, type] : all_forward) {
    mgemm_problem problem = mamba_gemm::make_problem(op, 129, 1100, 1100, type);
    (op == MGEMM_OP_NN ? problem.n : problem.k) = 70;
    const DeviceProduct whole = make_device_product(random, problem, {});
    GuardedMatrix expected = whole.out;
    expected.words = run_on(reference, whole);
    problem.m = 1;
    for (std::int64_t row = 0; row < 129; row += 16) {
      DeviceProduct alone = make_device_product(random, problem, {});
      alone.b = whole.b;
      alone.problem.ldb = whole.problem.ldb;
      for (std::int64_t j = 0; j < alone.a.columns; ++j) alone.a.set_bits(0, j, whole.a.bits(row, j));
      GuardedMatrix got = alone.out;
      got.words = run_on(reference, alone);
      CAPTURE(op, type, row);
      REQUIRE(got.row(0) == expected.row(row));
    }
  }
}

// Catches a verify that cannot read halves, or that takes a wrong output for a right one.
TEST_CASE("launches of every type verify themselves") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference();
  for (const char* const text :
       {"nn:bf16:41x70x53:bias:alpha=0.5:beta=2", "nn:f16:33x50x31:out=f32", "nt:f16:20x31x45", "tn:bf16:600x33x20",
        "nn:tf32:20x90x31:beta=1", "nt:tf32:7x31x77", "tn:f16:70x9x11:alpha=0.5"}) {
    CAPTURE(text);
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const BoundProduct bound(reference, product);
    const mamba_gemm::Launch launch(reference, product.problem, bound.operands());
    const mgemm_verify_report report = launch.verify(500, seed);
    REQUIRE(report.mismatches == 0);
    REQUIRE(report.checked >= 90);
    REQUIRE(bound.result() == product.out.words);
    const mgemm_description description = launch.describe();
    REQUIRE(std::string(description.problem) == mamba_gemm::to_string(product.problem));
    const bool tf32 = product.problem.in_type == MGEMM_TYPE_TF32;
    REQUIRE(std::string(description.contract) == (tf32 ? "TF32/L8F25/1" : "MMA_F32/L16F25/1"));
  }
}

// Catches a plan for an alignment that no operands of its problem can have.
TEST_CASE("a plan is made for no more alignment than the leading dimensions have") {
  const Context reference = Context::reference();
  const auto alignment_of = [&](const char* text, std::int32_t promised) {
    const mgemm_problem problem = mamba_gemm::parse_problem(text);
    mgemm_plan plan = 0;
    mamba_gemm::check(mgemm_plan_create(&plan, reference.handle(), &problem, promised));
    mgemm_description description{};
    description.struct_size = sizeof description;
    mamba_gemm::check(mgemm_plan_describe(plan, &description));
    mamba_gemm::check(mgemm_plan_destroy(plan));
    return description.alignment;
  };
  REQUIRE(alignment_of("nn:bf16:5x5x5:lda=7:ldb=8", 16) == 2);
  REQUIRE(alignment_of("nn:bf16:5x4x6", 256) == 4);
  REQUIRE(alignment_of("nn:f32:5x8x5", 32) == 4);
  REQUIRE(alignment_of("nn:bf16:5x5x5:lda=8:ldb=16", 16) == 16);
  REQUIRE(alignment_of("nn:bf16:5x8x8", 4) == 4);
}

// Catches halves that are rounded wrongly on the way out, or summed up in less than f32.
TEST_CASE("products of halves are near what they should be") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference();
  for (const char* const text : {"nn:bf16:20x300x30:out=f32", "nt:f16:20x30x300:out=f32", "nn:tf32:20x300x30"}) {
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const bool nt = product.problem.op == MGEMM_OP_NT;
    GuardedMatrix got = product.out;
    got.words = run_on(reference, product);
    for (std::int64_t i = 0; i < got.rows; ++i) {
      for (std::int64_t j = 0; j < got.columns; ++j) {
        double sum = 0;
        double size = 0;
        for (std::int64_t r = 0; r < 300; ++r) {
          const double term = double{product.a.at(i, r)} * double{nt ? product.b.at(j, r) : product.b.at(r, j)};
          sum += term;
          size += std::fabs(term);
        }
        CAPTURE(text, i, j);
        // Each of the steps cuts off less than 2^-23 of the largest number in it; tf32 also rounds its operands.
        const double unit = product.problem.in_type == MGEMM_TYPE_TF32 ? 0x1p-10 : 0x1p-18;
        REQUIRE(std::fabs(double{got.at(i, j)} - sum) < unit * size);
      }
    }
  }
}

// Catches a verify, validate or describe that does not look at this launch.
TEST_CASE("launches verify, validate and describe themselves") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference();
  const DeviceProduct product =
      make_device_product(random, mamba_gemm::parse_problem("nn:f32:40x700x50:bias:alpha=0.5:beta=2"), {});
  const BoundProduct bound(reference, product);
  const mamba_gemm::Launch launch(reference, product.problem, bound.operands());
  launch.validate();
  const mgemm_verify_report report = launch.verify(100, seed);
  REQUIRE(report.mismatches == 0);
  REQUIRE(report.checked >= 100);
  REQUIRE(report.checked < 2000);
  REQUIRE(report.first_row == -1);
  REQUIRE(bound.result() == product.out.words);
  const mgemm_description description = launch.describe();
  REQUIRE(std::string(description.problem) == mamba_gemm::to_string(product.problem));
  REQUIRE(std::string(description.contract) == "F32_FMA/1");
  REQUIRE(std::string(description.kernel) == "evaluator");
  REQUIRE(description.slices == 2);
  REQUIRE(description.out == bound.operands().out);
  REQUIRE(std::string(description.identity).size() == 64);
  const auto identities = nlohmann::json::parse(launch.describe_json())["identities"];
  REQUIRE(identities["route"]["sha256"] == std::string(description.identity));
  for (const char* name : {"device", "policy", "contracts", "tuning"}) {
    REQUIRE(identities[name]["sha256"].get<std::string>().size() == 64);
    REQUIRE(identities[name]["fields"].size() > 0);
    const nlohmann::json field{{"tag", name}, {"value", identities[name]["sha256"]}};
    const auto& of_route = identities["route"]["fields"];
    REQUIRE(std::find(of_route.begin(), of_route.end(), field) != of_route.end());
  }
  // No code was compiled: its fields are absent, not empty.
  REQUIRE_FALSE(identities.contains("artifact"));
}

// Catches a plan or a cached plan that is used for another problem.
TEST_CASE("gemm tells problems apart that differ in one bit") {
  Context reference = Context::reference(1);
  const std::vector<float> a(16, 1.0F);
  const std::vector<float> b(16, 1.0F);
  std::vector<float> out(16, 1.0F);
  const auto address = [](const auto& values) { return mamba_gemm::host_address(values.data()); };
  mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:4x4x4");
  for (const float alpha : {1.0F, std::nextafterf(1.0F, 2.0F), -1.0F, 1.0F}) {
    problem.alpha = alpha;
    reference.gemm(problem, mamba_gemm::operands(address(a), address(b), address(out)));
    REQUIRE(out.at(5) == 4 * alpha);
  }
}

// Catches memory of ours that is used after it was freed, or past its end.
TEST_CASE("launches are refused once their memory is freed, and before if it is too short") {
  const Context reference = Context::reference(1);
  const mamba_gemm::Buffer a(reference, 64);
  const mamba_gemm::Buffer b(reference, 64);
  mamba_gemm::Buffer out(reference, 64);
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:4x4x4");
  const mgemm_operands good = mamba_gemm::operands(a.address(), b.address(), out.address());
  mamba_gemm::Launch launch(reference, problem, good);
  const mgemm_operands past = mamba_gemm::operands(a.address() + 16, b.address(), out.address());
  REQUIRE(mgemm_launch_bind(launch.handle(), &past) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(std::string(mgemm_last_error()).find("operands.a at 0x") == 0);
  REQUIRE(std::string(mgemm_last_error()).find("needs 64 bytes; 48 are left") != std::string::npos);
  launch.run();
  out = mamba_gemm::Buffer();
  REQUIRE(mgemm_launch_run(launch.handle()) == MGEMM_STALE);
  REQUIRE(mgemm_launch_validate(launch.handle()) == MGEMM_STALE);
  REQUIRE(mgemm_launch_verify(launch.handle(), 1, 0, nullptr) == MGEMM_STALE);
  // The same address again is another allocation.
  const mamba_gemm::Buffer again(reference, 64);
  REQUIRE(mgemm_launch_run(launch.handle()) == MGEMM_STALE);
  const mgemm_operands rebound = mamba_gemm::operands(a.address(), b.address(), again.address());
  REQUIRE(mgemm_launch_bind(launch.handle(), &rebound) == MGEMM_OK);
  launch.run();
}

// Catches the reference device running on a stream it does not have.
TEST_CASE("the reference device has one stream") {
  Context reference = Context::reference(1);
  REQUIRE(reference.stream() == 0);
  REQUIRE(mgemm_context_set_stream(reference.handle(), 1) == MGEMM_UNSUPPORTED);
  REQUIRE(mgemm_context_set_stream(reference.handle(), 0) == MGEMM_OK);
  REQUIRE(mgemm_context_wait_stream(reference.handle(), 0) == MGEMM_OK);
  reference.synchronize();
}

// Catches samples that are too few, drawn twice, or drawn for ever where nearly all are wanted.
TEST_CASE("verify checks as many elements as it is asked for") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context reference = Context::reference(1);
  for (const char* text : {"nn:f32:1x1x20000", "nn:f32:20000x1x1", "nn:f32:141x2x142", "nn:f32:1x1x1"}) {
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const BoundProduct bound(reference, product);
    const mamba_gemm::Launch launch(reference, product.problem, bound.operands());
    const std::int64_t all = product.out.rows * product.out.columns;
    for (const std::int64_t samples :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{100}, all / 2, all - 1, all, all + 1}) {
      if (samples < 1) continue;
      CAPTURE(text, samples);
      const mgemm_verify_report report = launch.verify(samples, seed);
      REQUIRE(report.mismatches == 0);
      REQUIRE(report.checked >= std::min(samples, all));
      REQUIRE(report.checked <= all);
    }
  }
}

// Catches the caller's rounding mode, flushing or traps reaching the library's own comparisons and conversions.
TEST_CASE("the caller's floating-point environment changes nothing and is kept") {
  Context reference = Context::reference(1);
  const std::vector<float> a(16, std::numeric_limits<float>::denorm_min());
  const std::vector<float> b(16, 3.0F);
  std::vector<float> out(16, 1.0F);
  const auto address = [](const auto& values) { return mamba_gemm::host_address(values.data()); };
  const std::string text = "nn:f32:4x4x4:alpha=0.1:beta=1e-45";
  const mgemm_problem problem = mamba_gemm::parse_problem(text);
  const mgemm_operands operands = mamba_gemm::operands(address(a), address(b), address(out));
  const std::int64_t zero = 0;
  float expected = 0;
  mamba_gemm::check(mgemm_evaluate(MGEMM_PROFILE_SM90, &problem, &operands, 1, &zero, &zero, &expected));

  std::fenv_t before;
  REQUIRE(std::fegetenv(&before) == 0);
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
#if defined(__x86_64__)
  constexpr unsigned flush_and_denormals_are_zero = 0x8040;
  _mm_setcsr(_mm_getcsr() | flush_and_denormals_are_zero);
  const unsigned mine = _mm_getcsr();
#endif
  const std::string again = mamba_gemm::to_string(mamba_gemm::parse_problem(text));
  float value = 0;
  const mgemm_status evaluated = mgemm_evaluate(MGEMM_PROFILE_SM90, &problem, &operands, 1, &zero, &zero, &value);
  mgemm_operands without_out = operands;
  without_out.out = 0;
  const mgemm_status refused = mgemm_evaluate(MGEMM_PROFILE_SM90, &problem, &without_out, 1, &zero, &zero, &value);
  const mgemm_status product = mgemm_gemm(reference.handle(), &problem, &operands);
  const int rounding = std::fegetround();
#if defined(__x86_64__)
  const unsigned afterwards = _mm_getcsr();
#endif
  REQUIRE(std::fesetenv(&before) == 0);
#if defined(__x86_64__)
  REQUIRE((afterwards & 0xffc0U) == (mine & 0xffc0U));  // all but the sticky flags
#endif
  REQUIRE(rounding == FE_UPWARD);
  REQUIRE(again == text);
  REQUIRE(evaluated == MGEMM_OK);
  REQUIRE(std::memcmp(&value, &expected, sizeof value) == 0);
  REQUIRE(refused == MGEMM_INVALID_ARGUMENT);
  REQUIRE(product == MGEMM_OK);
  REQUIRE(std::memcmp(&out[0], &expected, sizeof expected) == 0);
}
