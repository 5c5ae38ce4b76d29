// What the lanes of a warp hand to each other.
#pragma once

namespace mgemm_kernel {

// The value of the lane whose number differs in the bits of `mask`. All lanes call it together.
__device__ __forceinline__ float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

// Of 16 columns, every four lanes hold 2 in each 8 of them, as tensor cores leave them: lane q columns 2 * q and 2 * q
// + 1 in `four[0]` and `four[1]`, and 8 columns further on in the others. Lane q gets columns 4 * q to 4 * q + 3.
__device__ __forceinline__ void make_fours(float (&four)[4]) {
  const bool odd = threadIdx.x % 2 != 0;
  const bool upper = threadIdx.x % 4 >= 2;
  const auto exchange = [](float& first, float& second, bool keeps_second, int mask) {
    const float other = shuffle_xor(keeps_second ? first : second, mask);
    first = keeps_second ? other : first;
    second = keeps_second ? second : other;
  };
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    exchange(four[i], four[2 + i], upper, 2);
    exchange(four[i], four[2 + i], odd, 1);
  }
}

}  // namespace mgemm_kernel
