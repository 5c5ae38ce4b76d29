// A kernel whose operands reach wgmma through ordinary stores to shared memory (sm_90a), with the fence that the
// asynchronous proxy needs in between, or without.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "catalogue/catalogue.hpp"

namespace mgemm::test {

/// What it computes, for probes: bf16, NT, f32 output, tiles of 64 x 8, 64 steps a stage.
inline KernelRow proxy_row() {
  KernelRow row;
  constexpr std::string_view symbol = "mgemm_proxy";
  std::ranges::copy(symbol, row.symbol.text.begin());
  std::ranges::copy(symbol, row.module.text.begin());
  row.family = Family::mma_tile;
  row.op = Op::nt;
  row.in_type = Type::bf16;
  row.out_type = Type::f32;
  row.tile_rows = 64;
  row.tile_columns = 8;
  row.tile_steps = 64;
  row.stages = 1;
  row.row_parts = 4;
  row.column_parts = 1;
  row.min_blocks = 1;
  row.slices = SliceMode::single;
  row.alignment = 2;
  return row;
}

/// All stores of a warp go to one bank, and so take 32 times as long as they could: they are still on their way when
/// the barrier is passed. Loads behind them wait their turn; wgmma does not come that way and sees what was there
/// before, unless a fence makes it wait.
inline std::string proxy_text(bool with_fence) {
  const std::string fence = with_fence ? "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");" : "";
  return R"(
#include "gemm_params.h"
using namespace mgemm_kernel;
__device__ void multiply(float (&v)[4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3]) : "l"(a), "l"(b));
}
__device__ void put(unsigned address, unsigned short value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}
// Core matrices of 8 rows of 16 bytes, without a swizzle.
__device__ unsigned long long descriptor(unsigned address, unsigned along_reduction) {
  return (address >> 4 & 0x3fff) | static_cast<unsigned long long>(along_reduction >> 4) << 16 | 128ull >> 4 << 32;
}
extern "C" __global__ void __launch_bounds__(128) mgemm_proxy(const __grid_constant__ GemmParams p) {
  __shared__ alignas(128) unsigned char shared_a[64 * 64 * 2];
  __shared__ alignas(128) unsigned char shared_b[8 * 64 * 2];
  const unsigned first_a = static_cast<unsigned>(__cvta_generic_to_shared(shared_a));
  const unsigned first_b = static_cast<unsigned>(__cvta_generic_to_shared(shared_b));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long tile_rows = (p.rows + 63) / 64;
  const long long row = blockIdx.x % tile_rows * 64, column = blockIdx.x / tile_rows * 8;
  const auto element = [&](const void* matrix, long long leading, long long i, long long extent, long long step) {
    const bool inside = i < extent && step < p.reduction;
    return inside ? static_cast<const unsigned short*>(matrix)[i * leading + step] : static_cast<unsigned short>(0);
  };
  float v[4] = {0, 0, 0, 0};
  for (long long step = 0; step < p.reduction; step += 64) {
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 128) {
      const int j = i / 64, k = i % 64;
      put(first_b + k / 8 * 128 + j * 16 + k % 8 * 2, element(p.b, p.ldb, column + j, p.columns, step + k));
    }
    // Lanes are 128 or 1024 bytes apart. All is loaded before the first store.
    const int low = 8 * (lane % 8), high = 8 * (warp % 2 * 4 + lane / 8);
    unsigned short mine[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int within = warp / 2 * 32 + i;
      mine[i] = element(p.a, p.lda, row + low + within / 8, p.rows, step + high + within % 8);
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int within = warp / 2 * 32 + i;
      put(first_a + high * 128 + low * 16 + within / 8 * 16 + within % 8 * 2, mine[i]);
    }
    )" + fence +
         R"(
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int group = 0; group < 4; ++group) {
      multiply(v, descriptor(first_a + 2048 * group, 1024), descriptor(first_b + 256 * group, 128));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3])::"memory");
  }
  for (int i = 0; i < 4; ++i) {
    const long long r = row + 16 * warp + lane / 4 + i / 2 * 8, c = column + lane % 4 * 2 + i % 2;
    if (r >= p.rows || c >= p.columns) continue;
    float* const out = static_cast<float*>(p.out) + r * p.ldout + c;
    float value = v[i];
    if (p.alpha != 1.0f) value = __fmul_rn(p.alpha, value);
    if (p.beta != 0.0f) value = __fmaf_rn(p.beta, *out, value);
    *out = value == value ? value : __int_as_float(0x7fffffff);
  }
}
)";
}

}  // namespace mgemm::test
