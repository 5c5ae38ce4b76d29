// The reference device's profiles: whose tensor cores it follows.
#include <cstdint>
#include <string>
#include <vector>

#include "support/device_product.hpp"

using namespace mgemm::test;
using mamba_gemm::Context;

namespace {

/// All elements of a product by mgemm_evaluate, as f32.
std::vector<float> evaluated(std::int32_t profile, const DeviceProduct& product) {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  for (std::int64_t i = 0; i < product.out.rows; ++i) {
    for (std::int64_t j = 0; j < product.out.columns; ++j) {
      rows.push_back(i);
      columns.push_back(j);
    }
  }
  std::vector<float> values(rows.size());
  const mgemm_operands operands =
      mamba_gemm::operands(mamba_gemm::host_address(product.a.data()), mamba_gemm::host_address(product.b.data()),
                           mamba_gemm::host_address(product.out.data()),
                           product.problem.bias == 1 ? mamba_gemm::host_address(product.bias.data()) : 0);
  mamba_gemm::check(mgemm_evaluate(profile, &product.problem, &operands, static_cast<std::int64_t>(values.size()),
                                   rows.data(), columns.data(), values.data()));
  return values;
}

std::vector<float> run(const Context& context, const DeviceProduct& product) {
  GuardedMatrix out = product.out;
  out.words = run_on(context, product);
  std::vector<float> values;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.columns; ++j) values.push_back(out.at(i, j));
  }
  return values;
}

}  // namespace

// Catches a profile that changes nothing, or changes f32; one that mgemm_evaluate and a context understand in two ways;
// a description that does not say it.
TEST_CASE("profiles differ on tensor cores' types and nowhere else") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context sm80 = Context::reference(1, MGEMM_PROFILE_SM80);
  const Context sm90 = Context::reference(1, MGEMM_PROFILE_SM90);
  CHECK(sm80.device_info().compute_major == 8);
  CHECK(sm90.device_info().compute_major == 9);
  for (const char* const text : {"nn:bf16:17x200x33:bias:out=f32", "nt:f16:17x33x200:out=f32:alpha=0.5",
                                 "tn:tf32:1100x17x33", "nn:f32:17x700x33:bias"}) {
    CAPTURE(text);
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const bool tensor = product.problem.in_type != MGEMM_TYPE_F32;
    CHECK(run(sm80, product) == evaluated(MGEMM_PROFILE_SM80, product));
    CHECK(run(sm90, product) == evaluated(MGEMM_PROFILE_SM90, product));
    CHECK((run(sm80, product) == run(sm90, product)) == !tensor);
    const mgemm_description old = mamba_gemm::Plan(sm80, product.problem).describe();
    const mgemm_description now = mamba_gemm::Plan(sm90, product.problem).describe();
    CHECK((std::string(old.contract) == now.contract) == !tensor);
    CHECK(old.profile == (tensor ? MGEMM_PROFILE_SM80 : MGEMM_PROFILE_SM90));
    CHECK(now.profile == MGEMM_PROFILE_SM90);
    CHECK(std::string(old.identity) != now.identity);
  }
}
