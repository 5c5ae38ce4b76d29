#pragma once
#include <concepts>
#include <cstdint>
#include <optional>

namespace mgemm {

/// Integer arithmetic that says when it overflows instead of wrapping.
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// ceil(a / b) for a >= 0, b > 0, without overflow.
template <std::integral T>
constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace mgemm
