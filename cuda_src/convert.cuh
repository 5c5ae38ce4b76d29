// Conversions between f32 and the types of tensor cores (PTX ISA, "cvt"; sm_80).
#pragma once
#include "gemm_params.h"
#include "tf32_bits.cuh"

namespace mgemm_kernel {

// To nearest even; every NaN becomes 0x7fff.
template <int TYPE>
__device__ __forceinline__ unsigned short to_half(float value) {
  static_assert(TYPE == BF16 || TYPE == F16, "a half type");
  unsigned short bits;
  if constexpr (TYPE == BF16) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  return bits;
}

// Two of them, the first in the lower bits.
template <int TYPE>
__device__ __forceinline__ unsigned to_halves(float first, float second) {
  static_assert(TYPE == BF16 || TYPE == F16, "a half type");
  unsigned bits;
  if constexpr (TYPE == BF16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  }
  return bits;
}

template <int TYPE>
__device__ __forceinline__ float from_half(unsigned short bits) {
  static_assert(TYPE == BF16 || TYPE == F16, "a half type");
  if constexpr (TYPE == BF16) {
    return __int_as_float(static_cast<int>(static_cast<unsigned>(bits) << 16));
  } else {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
}

// The bits of an f32 rounded to tf32, to nearest even; what is a NaN stays one.
__device__ __forceinline__ unsigned to_tf32(unsigned bits) {
#if __CUDA_ARCH__ >= 900
  unsigned rounded;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__int_as_float(static_cast<int>(bits))));
  return rounded;
#else
  return tf32_bits(bits);
#endif
}

}  // namespace mgemm_kernel
