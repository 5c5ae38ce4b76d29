#include "numeric/element.hpp"

#include <array>
#include <bit>

namespace mgemm {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000U;
constexpr std::uint32_t f32_infinity = 0x7f800000U;
constexpr std::uint16_t half_nan = 0x7fffU;

/// `bits` without its last `count` (1 .. 31), rounded to nearest even.
constexpr std::uint32_t shift_out(std::uint32_t bits, unsigned count) {
  const std::uint32_t kept = bits >> count;
  const std::uint32_t lost = bits & ((1U << count) - 1);
  const std::uint32_t half = 1U << (count - 1);
  return kept + (lost > half || (lost == half && (kept & 1U) != 0) ? 1U : 0U);
}

constexpr std::uint16_t bf16_of(std::uint32_t magnitude) {
  return static_cast<std::uint16_t>(shift_out(magnitude, 16));  // carries into the exponent, up to infinity
}

constexpr std::uint16_t f16_of(std::uint32_t magnitude) {
  constexpr std::uint32_t overflow = 0x47800000U;         // 2^16
  constexpr std::uint32_t smallest_normal = 0x38800000U;  // 2^-14
  constexpr std::uint32_t vanishes = 0x33000000U;         // 2^-25, which rounds to 0, as the even neighbour
  constexpr std::uint32_t rebias = (127U - 15U) << 23U;
  if (magnitude >= overflow) return 0x7c00U;
  if (magnitude >= smallest_normal) return static_cast<std::uint16_t>(shift_out(magnitude - rebias, 13));
  if (magnitude <= vanishes) return 0;
  // A subnormal: units of 2^-24.
  const std::uint32_t exponent = magnitude >> 23U;
  const std::uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
  return static_cast<std::uint16_t>(shift_out(significand, 126U - exponent));
}

constexpr std::uint32_t f32_of_f16(std::uint32_t magnitude) {
  constexpr std::uint32_t f16_infinity = 0x7c00U;
  if (magnitude >= f16_infinity) return f32_infinity | (magnitude & 0x3ffU) << 13U;
  constexpr std::uint32_t smallest_normal = 0x400U;
  if (magnitude >= smallest_normal) return (magnitude << 13U) + ((127U - 15U) << 23U);
  // A subnormal counts units of 2^-24.
  constexpr float unit = 0x1p-24F;
  return std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit);
}

}  // namespace

std::uint16_t to_half(Type type, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~sign_bit;
  if (magnitude > f32_infinity) return half_nan;
  const auto sign = static_cast<std::uint16_t>((bits & sign_bit) >> 16U);
  return static_cast<std::uint16_t>(sign | (type == Type::bf16 ? bf16_of(magnitude) : f16_of(magnitude)));
}

float from_half(Type type, std::uint16_t bits) {
  const std::uint32_t wide = bits;
  if (type == Type::bf16) return std::bit_cast<float>(wide << 16U);
  return std::bit_cast<float>((wide & 0x8000U) << 16U | f32_of_f16(wide & 0x7fffU));
}

}  // namespace mgemm
