#include "bench/product.hpp"

#include <algorithm>

#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli::bench {
namespace {

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

double out_elements(const mgemm_problem& problem) {
  switch (problem.op) {
    case MGEMM_OP_TN:
      return elements(problem.k, problem.n);
    case MGEMM_OP_NT:
      return elements(problem.m, problem.k);
    default:
      return elements(problem.m, problem.n);
  }
}

}  // namespace

double flops_of(const mgemm_problem& problem) {
  return 2 * elements(problem.m, problem.k) * static_cast<double>(problem.n);
}

double bytes_of(const mgemm_problem& problem) {
  const double all = elements(problem.m, problem.k) + elements(problem.k, problem.n) + elements(problem.m, problem.n);
  const double out = out_elements(problem);
  const double out_times = problem.beta == 0 ? 1 : 2;
  return static_cast<double>(mamba_gemm::element_bytes(problem.in_type)) * (all - out) +
         static_cast<double>(mamba_gemm::element_bytes(problem.out_type)) * out * out_times;
}

ProblemName name_of(const std::string& problem) {
  const auto field = [&](std::size_t from) { return std::min(problem.find(':', from), problem.size()); };
  const std::size_t op_end = field(0);
  const std::size_t type_end = field(std::min(op_end + 1, problem.size()));
  const std::size_t sizes_at = std::min(type_end + 1, problem.size());
  const std::size_t sizes_end = field(sizes_at);
  ProblemName name{problem.substr(0, op_end), problem.substr(op_end, type_end - op_end),
                   problem.substr(sizes_at, sizes_end - sizes_at)};
  if (!name.type.empty()) name.type.erase(0, 1);
  std::ranges::replace(name.label, 'x', ',');
  std::string extras = problem.substr(sizes_end);
  std::ranges::replace(extras, ':', ' ');
  name.label += extras;
  return name;
}

double error_bound(const mgemm_problem& problem) {
  constexpr double f32 = 1e-4;
  constexpr double tf32 = 2e-3;
  constexpr double halves_to_f32 = 1e-3;
  constexpr double bf16 = 1e-2;
  constexpr double f16 = 2e-3;
  if (problem.out_type == MGEMM_TYPE_BF16) return bf16;
  if (problem.out_type == MGEMM_TYPE_F16) return f16;
  if (problem.in_type == MGEMM_TYPE_TF32) return tf32;
  return mamba_gemm::is_half(problem.in_type) ? halves_to_f32 : f32;
}

}  // namespace mgemm::cli::bench
