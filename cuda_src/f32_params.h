// The parameters of every exact-f32 kernel, shared by host and device. Only built-in types: NVRTC has no <stdint.h>.
#pragma once

namespace mgemm_kernel {

struct F32Params {
  const float* a;
  const float* b;
  const float* bias;  // null if the problem has none
  float* out;
  long long rows, columns, reduction;  // of the output, and the length of each chain's range
  long long lda, ldb, ldout;
  long long slice_length;  // multiple of 64; at least `reduction` where there is one slice
  float alpha, beta;
};

static_assert(sizeof(F32Params) == 96, "host and device must agree on the layout");

}  // namespace mgemm_kernel
