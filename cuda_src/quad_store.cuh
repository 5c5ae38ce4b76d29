// Output rows of a warp, stored in vectors of 16 bytes.
#pragma once
#include "fragment_store.cuh"
#include "shuffle.cuh"

namespace mgemm_kernel {

// Value i of lane q of every four lanes becomes value q of lane i.
__device__ __forceinline__ void transpose_quad(unsigned (&values)[4]) {
  const bool odd = threadIdx.x % 2 != 0;
  const bool upper = threadIdx.x % 4 >= 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned other = shuffle_xor(odd ? values[i] : values[i + 1], 1);
    values[i] = odd ? other : values[i];
    values[i + 1] = odd ? values[i + 1] : other;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned other = shuffle_xor(upper ? values[i] : values[i + 2], 2);
    values[i] = upper ? other : values[i];
    values[i + 2] = upper ? values[i + 2] : other;
  }
}

struct alignas(16) FourWords {
  unsigned at[4];
};

// 16 rows and 32 columns of halves, all of which exist, where rows begin at multiples of 16 bytes and the old output is
// not read. `row` is the lane's, and `column` the warp's first. Every lane gets 8 columns side by side.
template <int OUT>
__device__ __forceinline__ void store_quads(const GemmParams& p, const FragmentSums<1, 4>& sum, long long row,
                                            long long column) {
  const int place = static_cast<int>(threadIdx.x) % 4;
  float bias[4][2];
#pragma unroll
  for (int y = 0; y < 4; ++y) {
#pragma unroll
    for (int i = 0; i < 2; ++i) bias[y][i] = p.bias != nullptr ? p.bias[column + 8 * y + 2 * place + i] : -0.0f;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    FourWords words;
#pragma unroll
    for (int y = 0; y < 4; ++y) {
      const float low = epilogue(p, sum[0][y][half * 2], bias[y][0], 0.0f);
      const float high = epilogue(p, sum[0][y][half * 2 + 1], bias[y][1], 0.0f);
      words.at[y] = static_cast<unsigned>(to_half<OUT>(low)) | static_cast<unsigned>(to_half<OUT>(high)) << 16;
    }
    transpose_quad(words.at);
    unsigned short* const out = static_cast<unsigned short*>(p.out) + (row + 8 * half) * p.ldout + column + 8 * place;
    *reinterpret_cast<FourWords*>(out) = words;
  }
}

// 16 rows and COLUMNS columns; `row` and `column` are the warp's first.
template <int OUT, int COLUMNS>
__device__ __forceinline__ void store_rows(const GemmParams& p, const float (&sum)[COLUMNS / 2], long long row,
                                           long long column) {
  const bool quads = OUT != F32 && !reads_output(p) && has_vector_rows<OUT, 8>(p) && row + 16 <= p.rows;
  constexpr int kStrips = COLUMNS / 32;
#pragma unroll
  for (int strip = 0; strip < kStrips; ++strip) {
    const auto& part = reinterpret_cast<const FragmentSums<1, 4>&>(sum[16 * strip]);
    const long long first = column + 32 * strip;
    if constexpr (OUT != F32) {
      if (quads && first + 32 <= p.columns) {
        store_quads<OUT>(p, part, row + threadIdx.x % 32 / 4, first);
        continue;
      }
    }
    store_fragments<OUT, 1, 4>(p, part, row, first);
  }
  if constexpr (COLUMNS % 32 != 0) {
    constexpr int kBlocks = COLUMNS % 32 / 8;
    const auto& part = reinterpret_cast<const FragmentSums<1, kBlocks>&>(sum[16 * kStrips]);
    store_fragments<OUT, 1, kBlocks>(p, part, row, column + 32 * kStrips);
  }
}

}  // namespace mgemm_kernel
