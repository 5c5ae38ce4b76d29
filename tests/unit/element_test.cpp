// Conversions of elements against definitions by value: what they would catch is a wrong neighbour, tie or edge.
#include "numeric/element.hpp"

#include <cmath>
#include <limits>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

struct Format {
  Type type;
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t infinity() const {
    return ((1U << static_cast<unsigned>(exponent_bits)) - 1) << static_cast<unsigned>(fraction_bits);
  }
};
constexpr std::array formats{Format{Type::bf16, 8, 7}, Format{Type::f16, 5, 10}};

/// By the definition of the format; of finite numbers that are not negative.
double value_of(const Format& format, std::uint32_t bits) {
  const auto field = static_cast<int>(bits >> static_cast<unsigned>(format.fraction_bits));
  const auto fraction = static_cast<double>(bits & ((1U << static_cast<unsigned>(format.fraction_bits)) - 1));
  const double one = field == 0 ? 0 : std::ldexp(1.0, format.fraction_bits);
  return std::ldexp(one + fraction, std::max(field, 1) - format.bias() - format.fraction_bits);
}

TEST_CASE("halves become the f32 of the same value") {
  for (const Format& format : formats) {
    for (std::uint32_t bits = 0; bits < format.infinity(); ++bits) {
      CAPTURE(static_cast<int>(format.type), bits);
      const auto half = static_cast<std::uint16_t>(bits);
      REQUIRE(double{from_half(format.type, half)} == value_of(format, bits));
      REQUIRE(double{from_half(format.type, half | 0x8000U)} == -value_of(format, bits));
      REQUIRE(std::signbit(from_half(format.type, half | 0x8000U)));
    }
    const auto infinity = static_cast<std::uint16_t>(format.infinity());
    CHECK(from_half(format.type, infinity) == std::numeric_limits<float>::infinity());
    CHECK(from_half(format.type, infinity | 0x8000U) == -std::numeric_limits<float>::infinity());
    for (std::uint32_t bits = format.infinity() + 1; bits <= 0x7fffU; ++bits) {
      REQUIRE(std::isnan(from_half(format.type, static_cast<std::uint16_t>(bits))));
    }
  }
}

TEST_CASE("f32 becomes the nearest half, the even one of two") {
  for (const Format& format : formats) {
    for (std::uint32_t bits = 0; bits < format.infinity(); ++bits) {
      CAPTURE(static_cast<int>(format.type), bits);
      const double low = value_of(format, bits);
      // Behind the largest number lies what would be the next one; from half the way there on it is infinity.
      const double high = value_of(format, bits + 1);
      const auto middle = static_cast<float>((low + high) / 2);
      REQUIRE(double{middle} == (low + high) / 2);
      const auto expect = [&](float value, std::uint32_t wanted) {
        REQUIRE(to_half(format.type, value) == wanted);
        REQUIRE(to_half(format.type, -value) == (wanted | 0x8000U));
      };
      expect(static_cast<float>(low), bits);
      expect(middle, bits + (bits & 1U));
      expect(std::nextafter(middle, 0.0F), bits);
      expect(std::nextafter(middle, std::numeric_limits<float>::infinity()), bits + 1);
    }
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(to_half(format.type, infinity) == format.infinity());
    CHECK(to_half(format.type, -infinity) == (format.infinity() | 0x8000U));
    CHECK(to_half(format.type, std::numeric_limits<float>::max()) == format.infinity());
    for (const std::uint32_t nan : {0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffc00000U}) {
      CHECK(to_half(format.type, std::bit_cast<float>(nan)) == 0x7fffU);
    }
  }
}

TEST_CASE("the C++ header converts halves as the library does") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const Format& format : formats) {
    const auto type = static_cast<std::int32_t>(format.type);
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float value = from_half(format.type, half);
      const float other = mamba_gemm::from_half(type, half);
      CAPTURE(type, bits);
      if (std::isnan(value)) {
        REQUIRE(std::isnan(other));
      } else {
        REQUIRE(std::bit_cast<std::uint32_t>(other) == std::bit_cast<std::uint32_t>(value));
      }
    }
    for (int i = 0; i < 200'000; ++i) {
      auto bits = static_cast<std::uint32_t>(random());
      if (i % 2 == 0) bits &= 0xffff8000U;  // ties of both types
      const auto value = std::bit_cast<float>(bits);
      CAPTURE(type, bits);
      REQUIRE(mamba_gemm::to_half(type, value) == to_half(format.type, value));
    }
  }
}

TEST_CASE("f32 becomes the nearest tf32, the even one of two") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const auto rounded = [](float value) {
    return std::bit_cast<float>(round_to_tf32(std::bit_cast<std::uint32_t>(value)));
  };
  for (int i = 0; i < 200'000; ++i) {
    // Any finite number, subnormals often.
    auto bits = static_cast<std::uint32_t>(random()) & 0x7fffffffU;
    if (i % 4 == 0) bits &= 0xffffffU;
    if (i % 3 == 0) bits = (bits & ~0x1fffU) | 0x1000U;  // a tie
    if (bits >= 0x7f7ff000U) continue;
    const auto value = std::bit_cast<float>(bits);
    int exponent = 0;
    std::frexp(value, &exponent);
    const int unit = std::max(exponent - 1, -126) - 10;
    const auto wanted = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(double{value}, -unit)), unit));
    CAPTURE(bits);
    REQUIRE(rounded(value) == wanted);
    REQUIRE(rounded(-value) == -wanted);
  }
  CHECK(std::isinf(rounded(std::bit_cast<float>(0x7f7ff000U))));
  CHECK(rounded(std::bit_cast<float>(0x7f7fefffU)) == std::bit_cast<float>(0x7f7fe000U));
  CHECK(std::isinf(rounded(std::numeric_limits<float>::infinity())));
  for (const std::uint32_t nan : {0x7f800001U, 0xff800001U, 0x7fffffffU, 0x7fc00000U}) {
    CHECK(std::isnan(rounded(std::bit_cast<float>(nan))));
  }
}

}  // namespace
