// The parameters of every tensor-core kernel, shared by host and device. Only built-in types: NVRTC has no <stdint.h>.
#pragma once

namespace mgemm_kernel {

struct MmaParams {
  const void* a;
  const void* b;
  const float* bias;  // null if the problem has none
  void* out;
  long long rows, columns, reduction;  // of the output, and the length of each chain's range
  long long lda, ldb, ldout;           // in elements
  long long slice_length;              // multiple of 64; at least `reduction` where there is one slice
  float alpha, beta;
};

static_assert(sizeof(MmaParams) == 96, "host and device must agree on the layout");

// Element types, with the numbers of MGEMM_TYPE_*.
enum MmaType { MMA_F32 = 1, MMA_BF16 = 2, MMA_F16 = 3 };

}  // namespace mgemm_kernel
