#pragma once
#include <cstdint>
#include <string>

#include "array.hpp"
#include "compare.hpp"
#include "mamba_gemm/mamba_gemm.h"

namespace mgemm::cli {

/// How the operands of a problem lie in memory, by the table of the public header.
struct Layouts {
  Matrix a, b, out;
  std::int64_t bias = 0;  // elements
};

/// A problem with its data on the host.
struct HostOperands {
  mgemm_problem problem{};
  Layouts layouts;
  Array a, b, bias;
  Array old;  // the output before the run
};

Layouts layouts_of(const mgemm_problem& problem);

/// Reads a problem string; BadInput with the library's text.
mgemm_problem problem_of(const std::string& text);

/// BadInput with the library's text unless the problem is valid.
void require_valid(const mgemm_problem& problem);

/// BadInput if the operands, with the copies that a check makes, are more than this machine's memory.
void require_memory(const mgemm_problem& problem, const Layouts& layouts);

/// Data drawn with `seed`. What no product may use is NaN, so that using it shows: gaps, and the old output where beta
/// is 0. The elements do not depend on the leading dimensions.
HostOperands random_operands(const mgemm_problem& problem, std::uint64_t seed);

}  // namespace mgemm::cli
