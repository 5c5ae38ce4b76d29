#include "operands.hpp"

#include <unistd.h>

#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "random.hpp"

namespace mgemm::cli {
namespace {

Matrix matrix_of(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return {rows, columns, leading == 0 ? columns : leading};
}

Array random_matrix(std::int32_t type, const Matrix& matrix, std::uint64_t seed, Stream stream) {
  Array values(type, matrix.with_gaps());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column)
      values.set(static_cast<std::size_t>(row * matrix.leading + column),
                 random_normal(seed, stream, static_cast<std::uint64_t>(row * matrix.columns + column)));
  }
  return values;
}

/// Runs a call whose only failure is the caller's fault.
template <typename Call>
auto as_input(Call&& call) {
  try {
    return call();
  } catch (const mamba_gemm::Error& error) {
    bad_input("{}: {}", error.status_name(), error.what());
  }
}

}  // namespace

Layouts layouts_of(const mgemm_problem& p) {
  const std::int64_t bias = p.bias != 0 ? p.n : 0;
  switch (p.op) {
    case MGEMM_OP_TN:
      return {matrix_of(p.m, p.k, p.lda), matrix_of(p.m, p.n, p.ldb), matrix_of(p.k, p.n, p.ldout), bias};
    case MGEMM_OP_NT:
      return {matrix_of(p.m, p.n, p.lda), matrix_of(p.k, p.n, p.ldb), matrix_of(p.m, p.k, p.ldout), bias};
    default:
      return {matrix_of(p.m, p.k, p.lda), matrix_of(p.k, p.n, p.ldb), matrix_of(p.m, p.n, p.ldout), bias};
  }
}

mgemm_problem problem_of(const std::string& text) {
  return as_input([&] { return mamba_gemm::parse_problem(text); });
}

void require_valid(const mgemm_problem& problem) {
  as_input([&] { return mamba_gemm::to_string(problem); });
}

void require_memory(const mgemm_problem& problem, const Layouts& layouts) {
  // In double: the products of three sizes may exceed 64 bits, and a rounding is no matter here.
  const auto bytes = [](std::int32_t type, const Matrix& matrix) {
    return static_cast<double>(mamba_gemm::element_bytes(type)) * static_cast<double>(matrix.rows) *
           static_cast<double>(matrix.leading);
  };
  constexpr double out_copies = 3;  // before, after, expected
  const double needed = bytes(problem.in_type, layouts.a) + bytes(problem.in_type, layouts.b) +
                        sizeof(float) * static_cast<double>(layouts.bias) +
                        out_copies * bytes(problem.out_type, layouts.out);
  const double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  constexpr double gibibyte = 1024.0 * 1024 * 1024;
  if (needed > present)
    bad_input("the operands need {:.1f} GiB of host memory; this machine has {:.1f} GiB", needed / gibibyte,
              present / gibibyte);
}

HostOperands random_operands(const mgemm_problem& problem, std::uint64_t seed) {
  HostOperands operands;
  operands.problem = problem;
  operands.layouts = layouts_of(problem);
  require_memory(problem, operands.layouts);
  operands.a = random_matrix(problem.in_type, operands.layouts.a, seed, Stream::a);
  operands.b = random_matrix(problem.in_type, operands.layouts.b, seed, Stream::b);
  operands.bias = random_matrix(MGEMM_TYPE_F32, {1, operands.layouts.bias, operands.layouts.bias}, seed, Stream::bias);
  if (problem.beta == 0) {
    operands.old = Array(problem.out_type, operands.layouts.out.with_gaps());
  } else {
    operands.old = random_matrix(problem.out_type, operands.layouts.out, seed, Stream::old);
  }
  return operands;
}

}  // namespace mgemm::cli
