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

// The parameters of kernels that copy with it. Nothing is read, and the maps of a and b are empty, if the reduction is.
struct TensorParams {
  GemmParams gemm;
  TensorMap a, b;
  TensorMap b_rest;  // where kernels copy the last columns of a tile apart
  TensorMap out;     // where kernels store by it, and the copy engine can write the output
};

static_assert(sizeof(TensorParams) == 640, "host and device must agree on the layout");

// In shared memory a stage of a tensor-core operand is cut, along the direction in which it is contiguous, into panels
// of lines no longer than the copy engine can permute. So many bytes of a line of `line_bytes` are in a panel.
#ifdef __CUDACC_RTC__
__device__
#endif
    constexpr int
    panel_bytes(int line_bytes) {
  return line_bytes % 128 == 0 ? 128 : line_bytes % 64 == 0 ? 64 : line_bytes % 32 == 0 ? 32 : 16;
}

// wgmma's b, of `columns` columns that are contiguous in memory, in elements of 2 bytes: so many of them come in panels
// of the longest lines, and the others apart.
#ifdef __CUDACC_RTC__
__device__
#endif
    constexpr int
    columns_in_long_lines(int columns) {
  return columns < 64 ? columns : columns / 64 * 64;
}

// Operations and element types, with the numbers of MGEMM_OP_* and MGEMM_TYPE_*.
enum Op { NN = 1, TN = 2, NT = 3 };
enum Type { F32 = 1, BF16 = 2, F16 = 3, TF32 = 4 };

}  // namespace mgemm_kernel
