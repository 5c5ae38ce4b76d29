// Takes the place of cuda_src/mma.cuh on the host: the lanes of a warp exchange what they hold, and each computes its
// own part by the contract.
#pragma once
#include <stdexcept>

#include "gemm_params.h"
#include "host_kernels/block.hpp"
#include "numeric/encoding.hpp"
#include "shared_memory.cuh"

namespace mgemm_kernel {

/// Element `step % 8` of the words of one lane's registers: a half of one, or all of it. Tensor cores do not round to
/// tf32: they leave the last bits out.
template <mgemm::Type type>
auto element_in(unsigned word, int step) {
  if constexpr (type == mgemm::Type::tf32) {
    return word & ~0x1fffU;
  } else {
    return static_cast<std::uint16_t>(word >> (step % 2 * 16));
  }
}

template <int TYPE>
void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  constexpr auto type = static_cast<mgemm::Type>(TYPE);
  constexpr int steps = type == mgemm::Type::tf32 ? 8 : 16;
  constexpr int per_word = steps / 8;
  const mgemm::host::Registers mine{a[0], a[1], a[2], a[3], b0, b1};
  const auto& warp = mgemm::host::exchange(mine);
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const int q = static_cast<int>(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i) {
    const int lower = i / 2;
    const int column = 2 * q + i % 2;
    std::uint32_t row_words[steps];
    std::uint32_t column_words[steps];
    for (int k = 0; k < steps; ++k) {
      // Four lanes hold the first half of the steps in one register, and the second half in another.
      const int half = k / (steps / 2);
      const int owner = k % (steps / 2) / per_word;
      const auto& of_a = warp[static_cast<std::size_t>(4 * g + owner)];
      const auto& of_b = warp[static_cast<std::size_t>(4 * column + owner)];
      row_words[k] = mgemm::Encoding<type, mgemm::Side::a>::encode(
          element_in<type>(of_a[static_cast<std::size_t>(2 * half + lower)], k));
      column_words[k] =
          mgemm::Encoding<type, mgemm::Side::b>::encode(element_in<type>(of_b[static_cast<std::size_t>(4 + half)], k));
    }
    d[i] = mgemm::fused_sum({steps, 25}, d[i], row_words, 1, column_words, 1);
  }
}

template <int COUNT, bool TRANSPOSED>
void ldmatrix(unsigned (&values)[4], unsigned address) {
  if (address % 16 != 0) throw std::logic_error("a row of a matrix in shared memory is not aligned");
  const mgemm::host::Registers mine{address};
  const auto& warp = mgemm::host::exchange(mine);
  const auto lane = static_cast<std::size_t>(threadIdx.x % 32);
  const std::size_t g = lane / 4;
  const std::size_t q = lane % 4;
  const auto element = [&](std::size_t matrix, std::size_t row, std::size_t column) {
    return mgemm::host::shared_half(warp[8 * matrix + row][0] + static_cast<std::uint32_t>(2 * column));
  };
  for (std::size_t matrix = 0; matrix < COUNT; ++matrix) {
    const unsigned low = TRANSPOSED ? element(matrix, 2 * q, g) : element(matrix, g, 2 * q);
    const unsigned high = TRANSPOSED ? element(matrix, 2 * q + 1, g) : element(matrix, g, 2 * q + 1);
    values[matrix] = low | high << 16U;
  }
}

}  // namespace mgemm_kernel
