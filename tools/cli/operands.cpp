#include "operands.hpp"

#include <unistd.h>

#include <limits>

#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "random.hpp"

namespace mgemm::cli {
namespace {

constexpr float not_a_value = std::numeric_limits<float>::quiet_NaN();

Matrix matrix_of(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return {rows, columns, leading == 0 ? columns : leading};
}

std::vector<float> random_matrix(const Matrix& matrix, std::uint64_t seed, Stream stream) {
  std::vector<float> values(static_cast<std::size_t>(matrix.words()), not_a_value);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column)
      values[static_cast<std::size_t>(row * matrix.leading + column)] =
          random_normal(seed, stream, static_cast<std::uint64_t>(row * matrix.columns + column));
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

void require_memory(const Layouts& layouts) {
  // In double: the products of three sizes may exceed 64 bits, and a rounding is no matter here.
  const auto words = [](const Matrix& matrix) {
    return static_cast<double>(matrix.rows) * static_cast<double>(matrix.leading);
  };
  constexpr double out_copies = 3;  // before, after, expected
  const double needed = sizeof(float) * (words(layouts.a) + words(layouts.b) + static_cast<double>(layouts.bias) +
                                         out_copies * words(layouts.out));
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
  require_memory(operands.layouts);
  operands.a = random_matrix(operands.layouts.a, seed, Stream::a);
  operands.b = random_matrix(operands.layouts.b, seed, Stream::b);
  operands.bias = random_matrix({1, operands.layouts.bias, operands.layouts.bias}, seed, Stream::bias);
  if (problem.beta == 0) {
    operands.old.assign(static_cast<std::size_t>(operands.layouts.out.words()), not_a_value);
  } else {
    operands.old = random_matrix(operands.layouts.out, seed, Stream::old);
  }
  return operands;
}

}  // namespace mgemm::cli
