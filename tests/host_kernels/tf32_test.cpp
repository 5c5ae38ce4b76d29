// Rounding to tf32 as boards without an instruction for it do, and what tensor cores make of words that are not
// rounded.
#include <bit>
#include <cstdint>
#include <random>

#include "convert.cuh"
#include "mma.cuh"

#include "host_kernels/block.hpp"
#include "numeric/element.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm_kernel;

bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffU) > 0x7f800000U; }

// Catches a kernel for boards before sm_90 that rounds a tie, a carry into the exponent, a subnormal or an overflow in
// another way than the contract, that leaves bits behind what tensor cores read, or that makes a number of a NaN.
TEST_CASE("words are rounded to tf32 by integers as the contract says") {
  const auto check = [](std::uint32_t bits) {
    const std::uint32_t rounded = to_tf32(bits);
    const bool right = is_nan(bits) ? is_nan(rounded & ~0x1fffU) : rounded == round_to_tf32(bits);
    CAPTURE(bits, rounded);
    if (!right || (rounded & 0x1fffU) != 0) CHECK(rounded == round_to_tf32(bits));
  };
  // What decides: sign, exponent, the last bits that stay and those that go.
  for (std::uint32_t head = 0; head < 1U << 9U; ++head) {
    for (const std::uint32_t kept : {0U, 1U, 2U, 3U, 0x200U, 0x3fdU, 0x3feU, 0x3ffU}) {
      for (const std::uint32_t cut : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU}) {
        check(head << 23U | kept << 13U | cut);
      }
    }
  }
  std::mt19937 random(static_cast<std::mt19937::result_type>(test::fresh_seed()));
  for (int i = 0; i < 1'000'000; ++i) check(static_cast<std::uint32_t>(random()));
}

// Catches an emulation that rounds for a kernel that forgets to.
TEST_CASE("products of words that are not rounded leave their last bits out") {
  const auto product_of = [](float a, float b) {
    float sum = 0;
    std::mt19937_64 random(1);
    host::run_grid({1, 32, 0, 1}, random, [&] {
      const unsigned word = std::bit_cast<unsigned>(a);
      const unsigned words[4] = {word, word, word, word};
      float d[4] = {};
      mma<TF32>(d, words, std::bit_cast<unsigned>(b), 0);
      if (threadIdx.x == 0) sum = d[0];
    });
    return sum;
  };
  CHECK(product_of(0x1.ffffp0F, 2) == 4 * 0x1.ffcp1F);
  CHECK(product_of(2, 0x1.ffffp0F) == 4 * 0x1.ffcp1F);
  CHECK(product_of(0x1.ffcp0F, 2) == 4 * 0x1.ffcp1F);
}

}  // namespace
