#include "numeric/fused_sum.hpp"

#include <algorithm>
#include <bit>

#include "numeric/contract.hpp"

namespace mgemm {
namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000U;
constexpr std::uint32_t fraction_mask = 0x7fffffU;

constexpr int exponent(std::uint32_t word) { return static_cast<std::int16_t>(word >> 16U); }
constexpr int significand(std::uint32_t word) { return static_cast<std::int16_t>(word & 0xffffU); }
constexpr bool is_special(std::uint32_t word) { return exponent(word) == special_exponent; }

/// A finite f32 as significand * 2^(exponent - 23), unnormalised where it is subnormal.
struct Accumulator {
  int exponent;
  std::int64_t significand;
};

Accumulator unpack(std::uint32_t bits) {
  const auto field = static_cast<int>(bits >> 23U & 0xffU);
  const auto magnitude = static_cast<std::int64_t>((bits & fraction_mask) | (field != 0 ? 0x800000U : 0U));
  return {std::max(field, 1) - 127, (bits >> 31U) != 0 ? -magnitude : magnitude};
}

/// value * 2^-count, cut toward zero.
constexpr std::int64_t cut_right(std::int64_t value, int count) {
  if (count >= 63) return 0;
  return value < 0 ? -(-value >> count) : value >> count;
}

/// sum * 2^unit as an f32, cut toward zero; too large is infinity, and what is cut to nothing +0.
float round_toward_zero(std::int64_t sum, int unit) {
  if (sum == 0) return 0;
  const std::uint32_t sign = sum < 0 ? 0x80000000U : 0U;
  const auto magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1 + unit;
  if (top > 127) return std::bit_cast<float>(sign | infinity_bits);
  const int shift = std::max(top - 23, -149) - unit;
  const std::uint64_t kept = shift >= 64 ? 0 : shift >= 0 ? magnitude >> shift : magnitude << -shift;
  const auto fraction = static_cast<std::uint32_t>(kept);
  if (fraction == 0) return 0;
  if (top < -126) return std::bit_cast<float>(sign | fraction);
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(top + 127) << 23U | (fraction & fraction_mask));
}

/// A step with an operand or accumulator that is infinite or NaN.
float exceptional(FusedSum parameters, std::uint32_t accumulator, const std::uint32_t* a, std::int64_t a_stride,
                  const std::uint32_t* b, std::int64_t b_stride) {
  const auto nan = std::bit_cast<float>(canonical_nan_bits);
  bool positive = accumulator == infinity_bits;
  bool negative = accumulator == (infinity_bits | 0x80000000U);
  if ((accumulator & infinity_bits) == infinity_bits && (accumulator & fraction_mask) != 0) return nan;
  for (int i = 0; i < parameters.terms; ++i, a += a_stride, b += b_stride) {
    if (!is_special(*a) && !is_special(*b)) continue;
    const int product = significand(*a) * significand(*b);
    if (product == 0) return nan;  // a NaN, or 0 * infinity
    (product > 0 ? positive : negative) = true;
  }
  if (positive && negative) return nan;
  return std::bit_cast<float>(infinity_bits | (negative ? 0x80000000U : 0U));
}

}  // namespace

float fused_sum(FusedSum parameters, float accumulator, const std::uint32_t* a, std::int64_t a_stride,
                const std::uint32_t* b, std::int64_t b_stride) {
  const auto bits = std::bit_cast<std::uint32_t>(accumulator);
  bool special = (bits & infinity_bits) == infinity_bits;
  const Accumulator start = unpack(bits);
  int largest = start.significand == 0 ? 2 * zero_exponent : start.exponent;
  for (int i = 0; i < parameters.terms; ++i) {
    const int sum = exponent(a[i * a_stride]) + exponent(b[i * b_stride]);
    special = special || sum >= least_special_sum;
    largest = std::max(largest, sum);
  }
  largest = std::max(largest, least_alignment);
  if (special) return exceptional(parameters, bits, a, a_stride, b, b_stride);

  const int below = product_fraction - parameters.fraction;
  std::int64_t total = 0;
  if (start.significand != 0) {
    total = cut_right(start.significand * (1 << (product_fraction - 23)), largest - start.exponent + below);
  }
  for (int i = 0; i < parameters.terms; ++i, a += a_stride, b += b_stride) {
    const std::int64_t product = std::int64_t{significand(*a)} * significand(*b);
    total += cut_right(product, largest - exponent(*a) - exponent(*b) + below);
  }
  return round_toward_zero(total, largest - parameters.fraction);
}

}  // namespace mgemm
