// The smallest product by tensor cores, for finding out how a board's add: no shared memory, no copies, nothing but
// loads, mma.sync and stores, so that what comes out is the instruction's doing alone.
#pragma once
#include "mma.cuh"

namespace mgemm_kernel {

// out = a b^T in f32: a warp and thread block has 16 rows of all there are and the 8 columns. The reduction is a
// multiple of 8 words, a word being two halves or one f32 that is a TF32 number. No bias, alpha or beta.
template <int TYPE>
__device__ __forceinline__ void tensor_probe(const GemmParams& p) {
  constexpr int kPerWord = TYPE == TF32 ? 1 : 2;
  const int g = static_cast<int>(threadIdx.x) / 4;
  const int q = static_cast<int>(threadIdx.x) % 4;
  const long long row = 16LL * blockIdx.x + g;
  const long long eight_rows = 8 * p.lda / kPerWord;
  const unsigned* a = static_cast<const unsigned*>(p.a) + row * p.lda / kPerWord + q;
  const unsigned* b = static_cast<const unsigned*>(p.b) + g * p.ldb / kPerWord + q;
  float sum[4] = {};
  for (long long step = 0; step < p.reduction; step += 8 * kPerWord) {
    const unsigned fragment[4] = {a[0], a[eight_rows], a[4], a[eight_rows + 4]};
    mma<TYPE>(sum, fragment, b[0], b[4]);
    a += 8;
    b += 8;
  }
  float* const out = static_cast<float*>(p.out) + row * p.ldout + 2 * q;
  out[0] = sum[0];
  out[1] = sum[1];
  out[8 * p.ldout] = sum[2];
  out[8 * p.ldout + 1] = sum[3];
}

}  // namespace mgemm_kernel
