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

// What the copy engine knows of an operand; the driver makes it (CUtensorMap).
struct alignas(128) TensorMap {
  unsigned long long words[16];
};

// The parameters of kernels that copy with it. Nothing is copied, and the maps are empty, if the reduction is.
struct TensorParams {
  GemmParams gemm;
  TensorMap a, b;
};

static_assert(sizeof(TensorParams) == 384, "host and device must agree on the layout");

// In shared memory a stage of a tensor-core operand is cut, along the direction in which it is contiguous, into panels
// of lines no longer than the copy engine can permute. So many bytes of a line of `line_bytes` are in a panel.
#ifdef __CUDACC_RTC__
__device__
#endif
    constexpr int
    panel_bytes(int line_bytes) {
  return line_bytes % 128 == 0 ? 128 : line_bytes % 64 == 0 ? 64 : line_bytes % 32 == 0 ? 32 : 16;
}

// Operations and element types, with the numbers of MGEMM_OP_* and MGEMM_TYPE_*.
enum Op { NN = 1, TN = 2, NT = 3 };
enum Type { F32 = 1, BF16 = 2, F16 = 3, TF32 = 4 };

}  // namespace mgemm_kernel
