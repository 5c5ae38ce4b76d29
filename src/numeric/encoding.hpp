#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "numeric/element.hpp"
#include "numeric/fused_sum.hpp"

namespace mgemm {

/// Which operand it is: words of fused sums differ (fused_sum.hpp).
enum class Side : std::int32_t { a, b };

constexpr std::uint32_t make_word(int exponent, int significand) {
  return static_cast<std::uint32_t>(exponent) << 16U | (static_cast<std::uint32_t>(significand) & 0xffffU);
}

/// What a type's elements become in the panels of one side: floats as they are, all others words of fused sums.
template <Type type, Side side>
struct Encoding {
  using Element = std::conditional_t<is_half(type), std::uint16_t, std::uint32_t>;
  using Packed = std::uint32_t;
  static constexpr int exponent_bits = type == Type::f16 ? 5 : 8;
  static constexpr int fraction_bits = type == Type::bf16 ? 7 : 10;
  static constexpr int largest_field = (1 << exponent_bits) - 1;
  static constexpr int bias = largest_field / 2;
  static constexpr int scale = (side == Side::a ? a_fraction : b_fraction) - fraction_bits;
  static constexpr Packed zero = make_word(zero_exponent, 0);

  static Packed encode(Element element) {
    std::uint32_t bits = element;
    if constexpr (type == Type::tf32) bits = round_to_tf32(bits) >> 13U;
    const auto field = static_cast<int>(bits >> fraction_bits & largest_field);
    auto significand = static_cast<int>(bits & ((1U << fraction_bits) - 1));
    const bool negative = (bits >> (exponent_bits + fraction_bits) & 1U) != 0;
    if (field == largest_field) return make_word(special_exponent, significand != 0 ? 0 : negative ? -1 : 1);
    if (field != 0) significand += 1 << fraction_bits;
    if (significand == 0) return zero;
    significand <<= scale;
    return make_word(std::max(field, 1) - bias, negative ? -significand : significand);
  }
};

template <Side side>
struct Encoding<Type::f32, side> {
  using Element = float;
  using Packed = float;
  static constexpr float zero = 0;
  static float encode(float element) { return element; }
};

}  // namespace mgemm
