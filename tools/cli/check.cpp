#include "check.hpp"

#include <algorithm>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli {
namespace {

/// Host memory as operands. An array without elements has no address, as the interface asks of a missing bias.
std::uint64_t address_of(const Array& values) {
  return values.bytes().empty() ? 0 : mamba_gemm::host_address(values.bytes().data());
}

mgemm_operands host_operands(const HostOperands& operands, const Array& out) {
  return mamba_gemm::operands(address_of(operands.a), address_of(operands.b), address_of(out),
                              address_of(operands.bias));
}

Comparison check_all(const HostOperands& operands, const Array& out, const CheckOptions& options) {
  Array expected = operands.old;
  mamba_gemm::Context reference = mamba_gemm::Context::reference(options.threads, options.profile);
  reference.gemm(operands.problem, host_operands(operands, expected));
  return compare_all(operands.layouts.out, out, expected);
}

Comparison check_sample(const HostOperands& operands, const Array& out, const CheckOptions& options) {
  constexpr std::int64_t fewest = 1024;
  const Samples samples = draw_samples(operands.layouts.out, std::max(options.samples, fewest), options.seed);
  std::vector<float> expected(samples.rows.size());
  const mgemm_operands on_host = host_operands(operands, operands.old);
  if (!expected.empty())
    mamba_gemm::check(mgemm_evaluate(options.profile, &operands.problem, &on_host,
                                     static_cast<std::int64_t>(expected.size()), samples.rows.data(),
                                     samples.columns.data(), expected.data()));
  return compare_samples(operands.layouts.out, samples, out, expected, operands.old);
}

}  // namespace

double multiply_adds(const mgemm_problem& problem) {
  return static_cast<double>(problem.m) * static_cast<double>(problem.k) * static_cast<double>(problem.n);
}

Comparison check_output(const HostOperands& operands, const Array& out, const CheckOptions& options) {
  constexpr double most_for_all = 0x1p33;
  if (multiply_adds(operands.problem) > most_for_all) return check_sample(operands, out, options);
  const Comparison all = check_all(operands, out, options);
  if (!options.by_reference || !all.passed()) return all;
  const Comparison sample = check_sample(operands, out, options);
  return sample.passed() ? all : sample;
}

}  // namespace mgemm::cli
