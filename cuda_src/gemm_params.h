// The parameters of every kernel, shared by host and device. Only built-in types: NVRTC has no <stdint.h>.
#pragma once

namespace mgemm_kernel {

struct GemmParams {
  const void* a;
  const void* b;
  const float* bias;  // null if the problem has none
  void* out;
  long long rows, columns, reduction;  // of the output, and the length of each chain's range
  long long lda, ldb, ldout;           // in elements
  long long slice_length;              // multiple of 64; at least `reduction` where there is one slice
  float alpha, beta;
};

static_assert(sizeof(GemmParams) == 96, "host and device must agree on the layout");

// Operations and element types, with the numbers of MGEMM_OP_* and MGEMM_TYPE_*.
enum Op { NN = 1, TN = 2, NT = 3 };
enum Type { F32 = 1, BF16 = 2, F16 = 3, TF32 = 4 };

}  // namespace mgemm_kernel
