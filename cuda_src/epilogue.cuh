// From a chain's sum to the output: the contract's epilogue, which is the same for all kernels.
#pragma once
#include "convert.cuh"

namespace mgemm_kernel {

// Whether the old output takes part. If not, it is never read: it may hold NaNs.
__device__ __forceinline__ bool reads_output(const GemmParams& p) { return p.beta != 0.0f; }

// The epilogue without branches: a step that the contract leaves out is one here that changes no bit. 1 * v is v, and
// so are v + -0 and fma(-0, +0, v). `bias` is -0 where there is none, and `old` is +0 where it is not read.
__device__ __forceinline__ float epilogue(const GemmParams& p, float v, float bias, float old) {
  return __fmaf_rn(reads_output(p) ? p.beta : -0.0f, old, __fadd_rn(__fmul_rn(p.alpha, v), bias));
}

// An output element in memory, as f32.
template <int OUT>
struct OutputElement {
  using Bits = unsigned short;
  __device__ static __forceinline__ float load(Bits bits) { return from_half<OUT>(bits); }
  __device__ static __forceinline__ Bits store(float value) { return to_half<OUT>(value); }
};
template <>
struct OutputElement<F32> {
  using Bits = float;
  __device__ static __forceinline__ float load(float value) { return value; }
  __device__ static __forceinline__ float store(float value) { return value; }
};

// Two elements side by side in the output, both of which exist, and may be read and written together.
template <int OUT>
struct alignas(2 * sizeof(typename OutputElement<OUT>::Bits)) OutputPair {
  using Bits = typename OutputElement<OUT>::Bits;
  Bits at[2];

  __device__ static __forceinline__ OutputPair read(const Bits* from) {
    return *reinterpret_cast<const OutputPair*>(from);
  }
  __device__ __forceinline__ void write(Bits* to) const { *reinterpret_cast<OutputPair*>(to) = *this; }
  __device__ __forceinline__ float get(int i) const { return OutputElement<OUT>::load(at[i]); }
  __device__ __forceinline__ void set(int i, float value) { at[i] = OutputElement<OUT>::store(value); }
};

// COUNT elements side by side in a row of the output. What of them does not exist is neither read nor written.
template <int OUT, int COUNT>
struct OutputPiece {
  using Element = OutputElement<OUT>;
  using Bits = typename Element::Bits;
  struct alignas(COUNT * sizeof(Bits)) Vector {
    Bits at[COUNT];
  };
  Bits* out;
  long long column;
  int count;   // of elements that exist
  bool whole;  // all do, and may be read and written together
  float old[COUNT];

  // Reads the old elements where they are needed. Do this for several pieces before the first is stored: the compiler
  // may not move a read up past a write. `vectors` says that rows begin at multiples of COUNT elements.
  __device__ __forceinline__ void load(const GemmParams& p, long long row, long long first, bool vectors) {
    out = static_cast<Bits*>(p.out) + row * p.ldout + first;
    column = first;
    const long long left = row < p.rows ? p.columns - first : 0;
    count = left < 0 ? 0 : left < COUNT ? static_cast<int>(left) : COUNT;
    whole = vectors && count == COUNT;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) old[i] = 0.0f;
    if (!reads_output(p)) return;
    if (whole) {
      const Vector before = *reinterpret_cast<const Vector*>(out);
#pragma unroll
      for (int i = 0; i < COUNT; ++i) old[i] = Element::load(before.at[i]);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        if (i < count) old[i] = Element::load(out[i]);
      }
    }
  }

  __device__ __forceinline__ void store(const GemmParams& p, const float (&values)[COUNT]) const {
    Vector result;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const float bias = p.bias != nullptr && i < count ? p.bias[column + i] : -0.0f;
      result.at[i] = Element::store(epilogue(p, values[i], bias, old[i]));
    }
    if (whole) {
      *reinterpret_cast<Vector*>(out) = result;
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        if (i < count) out[i] = result.at[i];
      }
    }
  }
};

// Whether all rows of the output begin at multiples of COUNT elements.
template <int OUT, int COUNT>
__device__ __forceinline__ bool has_vector_rows(const GemmParams& p) {
  constexpr int kBytes = COUNT * sizeof(typename OutputElement<OUT>::Bits);
  return p.ldout % COUNT == 0 && reinterpret_cast<unsigned long long>(p.out) % kBytes == 0;
}

}  // namespace mgemm_kernel
