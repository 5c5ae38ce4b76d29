// What the lanes of a warp hand to each other.
#pragma once

namespace mgemm_kernel {

// The value of the lane whose number differs in the bits of `mask`. All lanes call it together.
__device__ __forceinline__ float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

// One of the two registers goes to the lane whose number differs in `bit`: lanes that have the bit keep the second.
__device__ __forceinline__ void exchange(float& first, float& second, int bit) {
  const bool keeps_second = (threadIdx.x & bit) != 0;
  const float other = shuffle_xor(keeps_second ? first : second, bit);
  first = keeps_second ? other : first;
  second = keeps_second ? second : other;
}

// Lane t of the four that differ in the bits of `low` and 2 * `low` gets register t of them all, in their order.
__device__ __forceinline__ void transpose_fours(float (&four)[4], int low) {
  exchange(four[0], four[2], 2 * low);
  exchange(four[1], four[3], 2 * low);
  exchange(four[0], four[1], low);
  exchange(four[2], four[3], low);
}

// Of 16 columns, every four lanes hold 2 in each 8 of them, as tensor cores leave them: lane q columns 2 * q and 2 * q
// + 1 in `four[0]` and `four[1]`, and 8 columns further on in the others. Lane q gets columns 4 * q to 4 * q + 3.
__device__ __forceinline__ void make_fours(float (&four)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    exchange(four[i], four[2 + i], 2);
    exchange(four[i], four[2 + i], 1);
  }
}

}  // namespace mgemm_kernel
