// Included by files compiled for instruction sets the processor may lack: see arithmetic.hpp.
#pragma once
#include <cstdint>

#include "numeric/arithmetic.hpp"

namespace mgemm {

// An operand of a fused sum as the inner loops read it, one 32-bit word an element: the exponent in the upper half, the
// signed significand in the lower, both 16-bit integers. A subnormal keeps its format's smallest exponent. The
// significand of a has 12 fraction bits and that of b 13, so that products have 25.
inline constexpr int a_fraction = 12;
inline constexpr int b_fraction = 13;
inline constexpr int product_fraction = a_fraction + b_fraction;
// Exponents that are no exponents. Sums of two of them stay 16-bit integers, and on the right side of every real one.
inline constexpr int zero_exponent = -8000;
inline constexpr int special_exponent = 12000;  // significand +-1: an infinity; 0: a NaN
inline constexpr int least_special_sum = 1000;
// Nothing is aligned to a smaller exponent than this, so that nothing below 2^(-133 - F) is added (docs/contracts.md).
inline constexpr int least_alignment = -133;

/// One step: `parameters.terms` words of a and b, `a_stride` and `b_stride` apart, added to an accumulator.
float fused_sum(FusedSum parameters, float accumulator, const std::uint32_t* a, std::int64_t a_stride,
                const std::uint32_t* b, std::int64_t b_stride);

}  // namespace mgemm
