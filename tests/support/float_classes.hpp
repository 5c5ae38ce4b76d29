// Elements of every class of numbers that tensor cores treat in a way of its own.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "numeric/problem.hpp"
#include "support/random.hpp"

namespace mgemm::test {

/// What elements are drawn from: exponent fields in [low, high], and how often zeros, subnormals and exceptions.
struct NumberClass {
  const char* name;
  int low, high;  // relative to the bias; clamped to what the format has
  double zeros, subnormals, exceptions;
  float accumulator;  // the size of the old output, which enters behind the chain
};
inline constexpr std::array number_classes{NumberClass{"normal", -3, 3, 0, 0, 0, 1},
                                           NumberClass{"zeros among them", -8, 8, 0.3, 0, 0, 1},
                                           NumberClass{"the whole range", -200, 200, 0.05, 0.05, 0, 1},
                                           NumberClass{"subnormal and small", -200, -120, 0.1, 0.5, 0, 1e-37F},
                                           NumberClass{"subnormal times normal", -1, 1, 0.1, 0.45, 0, 1e-36F},
                                           NumberClass{"underflow", -72, -62, 0.1, 0, 0, 1e-40F},
                                           NumberClass{"deep underflow", -74, -64, 0.3, 0, 0, 0},
                                           NumberClass{"overflow", 61, 64, 0, 0, 0, 1e38F},
                                           NumberClass{"cancellation", -1, -1, 0, 0, 0, 1},
                                           NumberClass{"almost all zero", 0, 0, 0.95, 0, 0, 1},
                                           NumberClass{"exceptions", -3, 3, 0.1, 0.1, 0.02, 1},
                                           NumberClass{"rare exceptions", -3, 3, 0.1, 0, 0.0005, 1}};

struct Format {
  int exponent_bits, fraction_bits;
};
inline Format format_of(Type type) {
  return type == Type::bf16 ? Format{8, 7} : type == Type::f16 ? Format{5, 10} : Format{8, 10};
}

/// The bits of an element; tf32 has the 13 bits more of an f32.
inline std::uint32_t draw(Random& random, Type type, const NumberClass& from) {
  const auto [exponent_bits, fraction_bits] = format_of(type);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto fraction = static_cast<std::uint32_t>(random() & ((1U << static_cast<unsigned>(fraction_bits)) - 1));
  int field = static_cast<int>(uniform(random, bias + from.low, bias + from.high));
  field = std::clamp(field, 1, 2 * bias);
  std::uint32_t magnitude = static_cast<std::uint32_t>(field) << static_cast<unsigned>(fraction_bits) | fraction;
  const double kind = std::uniform_real_distribution<double>(0, 1)(random);
  if (kind < from.zeros) {
    magnitude = 0;
  } else if (kind < from.zeros + from.subnormals) {
    magnitude = fraction;
  } else if (kind < from.zeros + from.subnormals + from.exceptions) {
    magnitude = static_cast<std::uint32_t>(2 * bias + 1) << static_cast<unsigned>(fraction_bits);
    if (uniform(random, 0, 3) == 0) magnitude |= fraction | 1U;
  }
  const std::uint32_t bits = magnitude | static_cast<std::uint32_t>(random() & 1U)
                                             << static_cast<unsigned>(exponent_bits + fraction_bits);
  // What tf32 has no room for is rounded away, ties and carries among it.
  return type == Type::tf32 ? bits << 13U | static_cast<std::uint32_t>(random() & 0x1fffU) : bits;
}

}  // namespace mgemm::test
