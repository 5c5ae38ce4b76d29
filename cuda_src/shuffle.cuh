// What the lanes of a warp hand to each other.
#pragma once

namespace mgemm_kernel {

// The value of the lane whose number differs in the bits of `mask`. All lanes call it together.
__device__ __forceinline__ unsigned shuffle_xor(unsigned value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

}  // namespace mgemm_kernel
