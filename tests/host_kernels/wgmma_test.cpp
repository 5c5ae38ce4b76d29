// What the emulation of Hopper's products finds.
#include <functional>
#include <random>
#include <stdexcept>

#include "host_kernels/cuda_on_host.hpp"
#include "wgmma.cuh"

#include "host_kernels/block.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm_kernel;

constexpr std::uint32_t one = 0x3f803f80;  // two halves
constexpr std::uint32_t two = 0x40004000;
constexpr unsigned lines = 64;  // of 128 bytes, for a; b is the first 16 of them

void fill(std::uint32_t words) {
  for (unsigned i = threadIdx.x; i < lines * 32; i += 128) host::write_shared(4 * i, &words, 4);
}

/// 64 x 16 sums of 16 products of what is in shared memory, started.
void multiply(float (&sums)[8]) {
  const auto operand = matrix_descriptor<128>(0, 0, 1024);
  wgmma_fence();
  wgmma<BF16, 16, false, false>(sums, operand, operand);
  wgmma_commit();
}

/// Runs a warp group in so many random orders and gives how many of them left thread 77's result as `value`.
int runs_with(float value, const std::function<float()>& thread) {
  constexpr int runs = 60;
  std::mt19937_64 random(1);
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    float result = -1;
    host::run_grid({1, 128, lines * 128}, random, [&] {
      const float mine = thread();
      if (threadIdx.x == 77) result = mine;
    });
    if (result == value) ++found;
  }
  return found;
}

TEST_CASE("a sum that is not waited for may not be there") {
  const auto before_wait = [](float value) {
    return runs_with(value, [] {
      fill(one);
      __syncthreads();
      float sums[8] = {};
      multiply(sums);
      __syncthreads();
      const float early = sums[5];
      wgmma_wait<0>();
      return early;
    });
  };
  CHECK(before_wait(0) > 0);
  CHECK(before_wait(16) > 0);
  const auto older = [](float value) {
    return runs_with(value, [] {
      fill(one);
      __syncthreads();
      float sums[8] = {};
      float others[8] = {};
      multiply(sums);
      multiply(others);
      wgmma_wait<1>();
      const float waited = sums[5];
      const float early = others[5];
      wgmma_wait<0>();
      return waited + early;
    });
  };
  CHECK(older(16) > 0);
  CHECK(older(32) > 0);
  CHECK(older(16) + older(32) == 60);
}

TEST_CASE("a stage that is overwritten before the wait may give other sums") {
  const auto overwritten = [](float value, bool waits) {
    return runs_with(value, [&] {
      fill(one);
      __syncthreads();
      float sums[8] = {};
      multiply(sums);
      if (waits) wgmma_wait<0>();
      __syncthreads();
      fill(two);
      __syncthreads();
      if (!waits) wgmma_wait<0>();
      return sums[0];
    });
  };
  CHECK(overwritten(16, true) == 60);
  CHECK(overwritten(16, false) > 0);
  CHECK(overwritten(64, false) > 0);
}

TEST_CASE("the host finds products that are asked for wrongly") {
  std::mt19937_64 random(1);
  const auto run = [&](const std::function<void(float(&)[8])>& thread) {
    host::run_grid({1, 128, lines * 128}, random, [&] {
      float sums[8] = {};
      thread(sums);
    });
  };
  CHECK_NOTHROW(run([](auto& sums) {
    multiply(sums);
    wgmma_wait<0>();
  }));
  CHECK_THROWS_AS(run([](auto& sums) { multiply(sums); }), std::logic_error);
  CHECK_THROWS_AS(run([](auto& sums) {
                    const auto operand = matrix_descriptor<128>(0, 0, 1024);
                    wgmma<BF16, 16, false, false>(sums, operand, operand);
                    wgmma_commit();
                    wgmma_wait<0>();
                  }),
                  std::logic_error);
  CHECK_THROWS_AS(run([](auto& sums) {
                    if (threadIdx.x != 7) multiply(sums);
                    wgmma_wait<0>();
                  }),
                  std::logic_error);
  CHECK_THROWS_AS(run([](auto& sums) {
                    const auto operand = matrix_descriptor<128>(1024, 0, 1024);
                    wgmma_fence();
                    wgmma<BF16, 16, false, false>(sums, operand, operand);
                    wgmma_commit();
                    wgmma_wait<0>();
                  }),
                  std::logic_error);
}

// Catches an emulation that forgives a kernel words which the copy engine or a conversion should have rounded, in
// either operand, or that takes registers for other elements than the hardware does.
TEST_CASE("words in registers are a's, and must have been rounded") {
  std::mt19937_64 random(1);
  float result = 0;
  const auto run = [&](std::uint32_t a, std::uint32_t b) {
    host::run_grid({1, 128, lines * 128}, random, [&] {
      fill(b);
      __syncthreads();
      // Of row 8 * 3 + 4 alone (warp 1, lanes 16 to 19), steps 0 to 3 are `a`.
      const bool mine = threadIdx.x / 32 == 1 && threadIdx.x % 32 / 4 == 4;
      const unsigned words[4] = {0, mine ? a : 0, 0, 0};
      float sums[8] = {};
      wgmma_fence();
      wgmma<16>(sums, words, matrix_descriptor<128>(0, 0, 1024));
      wgmma_commit();
      wgmma_wait<0>();
      for (int i = 0; i < 8; ++i) {
        const bool is_row = mine && i % 4 >= 2;
        if (!is_row && sums[i] != 0) throw std::logic_error("a row that was not asked for");
        if (is_row) result = sums[i];
      }
    });
    return result;
  };
  CHECK(run(0x40400000, 0x3f800000) == 12);  // four times 3 * 1
  CHECK_THROWS_AS(run(0x40400001, 0x3f800000), std::logic_error);
  CHECK_THROWS_AS(run(0x40400000, 0x3f801000), std::logic_error);
}

}  // namespace
