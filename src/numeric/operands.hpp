#pragma once
#include <cstdint>

#include "numeric/problem.hpp"

namespace mgemm {

/// Checks addresses against a problem: null, alignment to the element, wrap-around, and that no output element is also
/// an element of an input. Throws Error naming operand, values and rule.
void check_operands(const Problem& problem, const mgemm_operands& operands);

/// The two halves of it: reserved fields and inputs; the output and its distance from the inputs.
void check_inputs(const Problem& problem, const mgemm_operands& operands);
void check_output(const Problem& problem, const mgemm_operands& operands);

/// The largest power of two, up to 256, that divides the addresses of a and b and their leading dimensions in bytes.
/// Outputs and bias rows are handled by every kernel at any alignment.
std::int32_t alignment_of(const Problem& problem, const mgemm_operands& operands);

}  // namespace mgemm
