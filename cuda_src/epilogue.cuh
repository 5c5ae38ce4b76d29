// From a chain's sum to the output: the contract's epilogue, which is the same for all kernels.
#pragma once
#include "convert.cuh"

namespace mgemm_kernel {

// `old` is the value of the output before, where beta asks for it.
__device__ __forceinline__ float epilogue(const GemmParams& p, float v, long long column, float old) {
  if (p.alpha != 1.0f) v = __fmul_rn(p.alpha, v);
  if (p.bias != nullptr) v = __fadd_rn(v, p.bias[column]);
  if (p.beta != 0.0f) v = __fmaf_rn(p.beta, old, v);
  return v;
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

// COUNT elements of one row, from `column`, with as many as exist. The old output is read only if beta asks for it.
// `vectors` says that rows begin at multiples of COUNT elements.
template <int OUT, int COUNT>
__device__ __forceinline__ void store_row(const GemmParams& p, const float (&values)[COUNT], long long row,
                                          long long column, bool vectors) {
  using Element = OutputElement<OUT>;
  using Bits = typename Element::Bits;
  struct alignas(COUNT * sizeof(Bits)) Vector {
    Bits at[COUNT];
  };
  Bits* const out = static_cast<Bits*>(p.out) + row * p.ldout + column;
  if (vectors && column + COUNT <= p.columns) {
    Vector* const target = reinterpret_cast<Vector*>(out);
    const Vector old = p.beta != 0.0f ? *target : Vector{};
    Vector result;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      result.at[i] = Element::store(epilogue(p, values[i], column + i, Element::load(old.at[i])));
    }
    *target = result;
    return;
  }
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if (column + i >= p.columns) break;
    const float old = p.beta != 0.0f ? Element::load(out[i]) : 0.0f;
    out[i] = Element::store(epilogue(p, values[i], column + i, old));
  }
}

// Whether all rows of the output begin at multiples of COUNT elements.
template <int OUT, int COUNT>
__device__ __forceinline__ bool has_vector_rows(const GemmParams& p) {
  constexpr int kBytes = COUNT * sizeof(typename OutputElement<OUT>::Bits);
  return p.ldout % COUNT == 0 && reinterpret_cast<unsigned long long>(p.out) % kBytes == 0;
}

}  // namespace mgemm_kernel
