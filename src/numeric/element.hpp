#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "numeric/problem.hpp"

namespace mgemm {

/// The bits of a half type from an f32, rounded to nearest even; every NaN becomes 0x7fff.
std::uint16_t to_half(Type type, float value);
/// The f32 of the same value as the bits of a half type; exact.
float from_half(Type type, std::uint16_t bits);
/// The bits of an f32 rounded to tf32's 10 fraction bits, to nearest even. A NaN stays one.
constexpr std::uint32_t round_to_tf32(std::uint32_t bits) {
  constexpr std::uint32_t infinity = 0x7f800000U;
  constexpr std::uint32_t cut_off = 0x1fffU;
  if ((bits & infinity) == infinity) return (bits & cut_off) != 0 ? bits | 0x400000U : bits;
  return (bits + cut_off / 2 + (bits >> 13U & 1U)) & ~cut_off;
}

/// Elements of an output's type in memory, as f32.
template <Type type>
struct Elements {
  static float load(const void* array, std::int64_t index) {
    if constexpr (is_half(type)) return from_half(type, static_cast<const std::uint16_t*>(array)[index]);
    return static_cast<const float*>(array)[index];
  }
  static void store(void* array, std::int64_t index, float value) {
    if constexpr (is_half(type)) {
      static_cast<std::uint16_t*>(array)[index] = to_half(type, value);
    } else {
      static_cast<float*>(array)[index] = value;
    }
  }
};

/// Calls `visit` with the Elements of an output's type.
template <typename Visit>
auto with_elements(Type type, Visit&& visit) {
  switch (type) {
    case Type::bf16:
      return visit(Elements<Type::bf16>{});
    case Type::f16:
      return visit(Elements<Type::f16>{});
    case Type::f32:
    case Type::tf32:
      break;
  }
  return visit(Elements<Type::f32>{});
}

}  // namespace mgemm
