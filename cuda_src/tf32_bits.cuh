// Rounding to tf32 by integers, for boards that have no instruction for it.
#pragma once

namespace mgemm_kernel {

// The bits of an f32 rounded to tf32, to nearest even; what is a NaN stays one.
__device__ __forceinline__ unsigned tf32_bits(unsigned bits) {
  const unsigned rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffe000u : rounded;
}

}  // namespace mgemm_kernel
