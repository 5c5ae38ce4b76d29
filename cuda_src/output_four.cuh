// Four elements side by side in a row of an f32 output.
#pragma once
#include "epilogue.cuh"

namespace mgemm_kernel {

// The epilogue changes nothing.
__device__ __forceinline__ bool is_plain(const GemmParams& p) {
  return p.alpha == 1.0f && p.bias == nullptr && !reads_output(p);
}

// What of them does not exist is neither read nor written. `row` and `column` are the output's for the first; `vectors`
// says that rows begin at multiples of four elements.
struct alignas(16) OutputFour {
  float at[4];

  __device__ __forceinline__ void read(const GemmParams& p, unsigned row, unsigned column, bool vectors) {
    const int count = existing(p, row, column);
    const float* const from = static_cast<const float*>(p.out) + row * p.ldout + column;
    if (vectors && count == 4) {
      *this = *reinterpret_cast<const OutputFour*>(from);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i < count) at[i] = from[i];
      }
    }
  }

  __device__ __forceinline__ void write(const GemmParams& p, unsigned row, unsigned column, bool vectors) const {
    const int count = existing(p, row, column);
    float* const to = static_cast<float*>(p.out) + row * p.ldout + column;
    if (vectors && count == 4) {
      *reinterpret_cast<OutputFour*>(to) = *this;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i < count) to[i] = at[i];
      }
    }
  }

  // From sums to outputs. `old` is zero where it is not read.
  __device__ __forceinline__ void finish(const GemmParams& p, unsigned column, const OutputFour& old) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float bias =
          p.bias != nullptr && column + i < static_cast<unsigned>(p.columns) ? p.bias[column + i] : -0.0f;
      at[i] = epilogue(p, at[i], bias, old.at[i]);
    }
  }

 private:
  __device__ static __forceinline__ int existing(const GemmParams& p, unsigned row, unsigned column) {
    const unsigned columns = static_cast<unsigned>(p.columns);
    if (row >= static_cast<unsigned>(p.rows) || column >= columns) return 0;
    return columns - column < 4 ? static_cast<int>(columns - column) : 4;
  }
};

}  // namespace mgemm_kernel
