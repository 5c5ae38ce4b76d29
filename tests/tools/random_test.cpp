#include "random.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "support/test.hpp"

using mgemm::cli::random_normal;
using mgemm::cli::random_word;
using mgemm::cli::Stream;

// Catches any change of the generator, which would give other data for a seed than earlier releases and other machines
// have. The values come from a few lines of Python with exact integers and one rounding to f32.
TEST_CASE("the generator's values are pinned") {
  struct Pin {
    std::uint64_t seed;
    Stream stream;
    std::uint64_t index, word;
    std::uint32_t normal;
  };
  const Pin pins[] = {
      {0, Stream::a, 0, 0xa706dd2f4d197e6fU, 0x3f8f3c40U},
      {0, Stream::a, 1, 0xb382a305f4414f5eU, 0x3f85025cU},
      {0, Stream::b, 0, 0x46b73e79f0c37c00U, 0xbf4f5ae5U},
      {1, Stream::a, 0, 0x5e41ab087439611eU, 0x3f04d3d1U},
      {UINT64_MAX, Stream::old, 1'000'000'000'000U, 0x3b8cf9c82d19a54dU, 0xbf45d334U},
  };
  for (const Pin& pin : pins) {
    CAPTURE(pin.seed, pin.index);
    CHECK(random_word(pin.seed, pin.stream, pin.index) == pin.word);
    CHECK(std::bit_cast<std::uint32_t>(random_normal(pin.seed, pin.stream, pin.index)) == pin.normal);
  }
}

// Catches a wrong mean, scale or field sum: data that is not near normal hides errors of summation order.
TEST_CASE("the data have mean 0, deviation 1 and a normal's fourth moment") {
  constexpr int count = 200'000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < count; ++i) {
    const double x = random_normal(7, Stream::a, static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  CHECK(std::abs(sum / count) < 0.01);
  CHECK(std::abs(squares / count - 1) < 0.02);
  // A sum of eight uniforms has kurtosis 3 - 1.2 / 8 = 2.85.
  CHECK(std::abs(fourths / count - 2.85) < 0.1);
}
