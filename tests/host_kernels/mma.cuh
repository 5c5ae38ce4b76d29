// Takes the place of cuda_src/mma.cuh on the host: the lanes of a warp exchange what they hold, and each computes its
// own part by the contract.
#pragma once
#include <stdexcept>

#include "host_kernels/block.hpp"
#include "mma_params.h"
#include "numeric/encoding.hpp"

namespace mgemm_kernel {

constexpr mgemm::Type type_of(int type) { return static_cast<mgemm::Type>(type); }

/// Half `index % 2` of the register that holds it.
inline std::uint16_t half_at(unsigned word, int index) { return static_cast<std::uint16_t>(word >> (index % 2 * 16)); }

template <int TYPE>
void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  constexpr int steps = 16;
  constexpr mgemm::Type type = type_of(TYPE);
  const auto& warp = mgemm::host::exchange({a[0], a[1], a[2], a[3], b0, b1});
  const int g = static_cast<int>(threadIdx.x) % 32 / 4;
  const int q = static_cast<int>(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i) {
    const int upper = i / 2;
    const int column = 2 * q + i % 2;
    std::uint32_t row_words[steps];
    std::uint32_t column_words[steps];
    for (int k = 0; k < steps; ++k) {
      const auto& of_a = warp[static_cast<std::size_t>(4 * g + k % 8 / 2)];
      const auto& of_b = warp[static_cast<std::size_t>(4 * column + k % 8 / 2)];
      row_words[k] =
          mgemm::Encoding<type, mgemm::Side::a>::encode(half_at(of_a[static_cast<std::size_t>(k / 8 * 2 + upper)], k));
      column_words[k] =
          mgemm::Encoding<type, mgemm::Side::b>::encode(half_at(of_b[static_cast<std::size_t>(4 + k / 8)], k));
    }
    d[i] = mgemm::fused_sum({16, 25}, d[i], row_words, 1, column_words, 1);
  }
}

template <bool TRANSPOSED>
void ldmatrix_x4(unsigned (&values)[4], unsigned address) {
  if (address % 16 != 0) throw std::logic_error("a row of a matrix in shared memory is not aligned");
  const auto& warp = mgemm::host::exchange({address});
  const auto lane = static_cast<std::size_t>(threadIdx.x % 32);
  const std::size_t g = lane / 4;
  const std::size_t q = lane % 4;
  const auto element = [&](std::size_t matrix, std::size_t row, std::size_t column) {
    return mgemm::host::shared_half(warp[8 * matrix + row][0] + static_cast<std::uint32_t>(2 * column));
  };
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    const unsigned low = TRANSPOSED ? element(matrix, 2 * q, g) : element(matrix, g, 2 * q);
    const unsigned high = TRANSPOSED ? element(matrix, 2 * q + 1, g) : element(matrix, g, 2 * q + 1);
    values[matrix] = low | high << 16U;
  }
}

template <int TYPE>
unsigned short to_half(float value) {
  return mgemm::to_half(type_of(TYPE), value);
}
template <int TYPE>
float from_half(unsigned short bits) {
  return mgemm::from_half(type_of(TYPE), bits);
}

}  // namespace mgemm_kernel
