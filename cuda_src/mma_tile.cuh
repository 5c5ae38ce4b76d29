// Products of halves on tensor cores (contract MMA_F32): one thread block computes one tile of the output; each warp
// owns a part of it and runs one chain of fused sums of 16 per element, in ascending order of the reduction.
#pragma once
#include "mma_operand.cuh"

namespace mgemm_kernel {

enum MmaOp { MMA_NN = 1, MMA_TN = 2, MMA_NT = 3 };

// WARP_ROWS x WARP_COLUMNS warps; OUT is the output's type; SLICED adds up slices in f32, one after the other.
template <int OP, int TYPE, int OUT, int BM, int BN, int BK, int STAGES, int WARP_ROWS, int WARP_COLUMNS, int ALIGN,
          bool SLICED>
struct MmaTile {
  static constexpr int kThreads = 32 * WARP_ROWS * WARP_COLUMNS;
  using A = MmaOperand<BM, BK, OP != MMA_TN, ALIGN, kThreads>;
  using B = MmaOperand<BN, BK, OP == MMA_NT, ALIGN, kThreads>;
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kSharedBytes = STAGES * kStageBytes;
  static constexpr int kRowBlocks = BM / WARP_ROWS / 16;
  static constexpr int kColumnBlocks = BN / WARP_COLUMNS / 8;
  static_assert(kRowBlocks > 0 && kColumnBlocks % 2 == 0, "fragments come as 16 rows and 16 columns");
  static_assert(BK % 16 == 0 && 64 % BK == 0, "a slice ends with a stage");

  struct Position {
    long long row, column;
  };
  // Tiles are numbered in bands of 8 tile rows, so that blocks running together share operands in L2.
  __device__ static __forceinline__ Position position(const MmaParams& p) {
    const unsigned tile_rows = static_cast<unsigned>((p.rows + BM - 1) / BM);
    const unsigned tile_columns = static_cast<unsigned>((p.columns + BN - 1) / BN);
    const unsigned long long band_tiles = 8ull * tile_columns;
    const unsigned band = static_cast<unsigned>(blockIdx.x / band_tiles);
    const unsigned within = static_cast<unsigned>(blockIdx.x % band_tiles);
    const unsigned height = tile_rows - 8 * band < 8 ? tile_rows - 8 * band : 8;
    return {static_cast<long long>(8 * band + within % height) * BM, static_cast<long long>(within / height) * BN};
  }

  using Sums = float[kRowBlocks][kColumnBlocks][4];

  // One step of every chain of the warp.
  __device__ static __forceinline__ void multiply(Sums& sum, const unsigned char* a, const unsigned char* b, int row,
                                                  int column, int step) {
    unsigned fragment_a[kRowBlocks][4];
#pragma unroll
    for (int x = 0; x < kRowBlocks; ++x) A::load_a(fragment_a[x], a, row + 16 * x, step);
#pragma unroll
    for (int y = 0; y < kColumnBlocks; y += 2) {
      unsigned fragment_b[4];
      B::load_b(fragment_b, b, column + 8 * y, step);
#pragma unroll
      for (int x = 0; x < kRowBlocks; ++x) {
        mma_m16n8k16<TYPE>(sum[x][y], fragment_a[x], fragment_b[0], fragment_b[1]);
        mma_m16n8k16<TYPE>(sum[x][y + 1], fragment_a[x], fragment_b[2], fragment_b[3]);
      }
    }
  }

  // The contract's epilogue and the store of one element. The old output is read only if beta asks for it.
  __device__ static __forceinline__ void store(const MmaParams& p, float v, long long row, long long column) {
    if (column >= p.columns) return;
    if (p.alpha != 1.0f) v = __fmul_rn(p.alpha, v);
    if (p.bias != nullptr) v = __fadd_rn(v, p.bias[column]);
    if constexpr (OUT == MMA_F32) {
      float* const out = static_cast<float*>(p.out) + row * p.ldout + column;
      *out = p.beta != 0.0f ? __fmaf_rn(p.beta, *out, v) : v;
    } else {
      unsigned short* const out = static_cast<unsigned short*>(p.out) + row * p.ldout + column;
      if (p.beta != 0.0f) v = __fmaf_rn(p.beta, from_half<OUT>(*out), v);
      *out = to_half<OUT>(v);
    }
  }

  __device__ static __forceinline__ void run(const MmaParams& p) {
    extern __shared__ float4 dynamic_shared[];
    unsigned char* const shared = reinterpret_cast<unsigned char*>(dynamic_shared);
    const Position at = position(p);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp_row = warp / WARP_COLUMNS * (16 * kRowBlocks);
    const int warp_column = warp % WARP_COLUMNS * (8 * kColumnBlocks);

    typename A::Source source_a(p.a, p.lda, at.row, p.rows);
    typename B::Source source_b(p.b, p.ldb, at.column, p.columns);
    // Starts the copies of the stage at reduction step `step`, if it exists. Called for ascending steps.
    const auto copy_stage = [&](int stage, long long step) {
      if (step < p.reduction) {
        unsigned char* const base = shared + stage * kStageBytes;
        source_a.copy(base, p.reduction - step);
        source_b.copy(base + A::kBytes, p.reduction - step);
      }
      cp_async_commit();
    };

    Sums sum = {};
    float total[SLICED ? kRowBlocks : 1][SLICED ? kColumnBlocks : 1][4];
    long long slice_end = p.slice_length;
    bool first_slice = true;

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) copy_stage(stage, static_cast<long long>(stage) * BK);

    int stage = 0;
    for (long long step = 0; step < p.reduction; step += BK) {
      cp_async_wait<STAGES - 2>();
      __syncthreads();  // the stage has arrived, and everyone has left the one that is filled next
      copy_stage(stage == 0 ? STAGES - 1 : stage - 1, step + static_cast<long long>(STAGES - 1) * BK);
      const unsigned char* const a = shared + stage * kStageBytes;
      const unsigned char* const b = a + A::kBytes;
      if (p.reduction - step >= BK) {
#pragma unroll
        for (int k = 0; k < BK; k += 16) multiply(sum, a, b, warp_row, warp_column, k);
      } else {
        // As many groups of 16 as the contract has, the last filled up with zeros.
        const int left = static_cast<int>(p.reduction - step);
#pragma unroll 1
        for (int k = 0; k < left; k += 16) multiply(sum, a, b, warp_row, warp_column, k);
      }
      stage = stage == STAGES - 1 ? 0 : stage + 1;
      if constexpr (SLICED) {
        // Slice lengths are multiples of 64, so a slice ends with a stage.
        if (step + BK >= slice_end || step + BK >= p.reduction) {
#pragma unroll
          for (int x = 0; x < kRowBlocks; ++x) {
#pragma unroll
            for (int y = 0; y < kColumnBlocks; ++y) {
#pragma unroll
              for (int z = 0; z < 4; ++z) {
                total[x][y][z] = first_slice ? sum[x][y][z] : __fadd_rn(total[x][y][z], sum[x][y][z]);
                sum[x][y][z] = 0.0f;
              }
            }
          }
          first_slice = false;
          slice_end += p.slice_length;
        }
      }
    }
    cp_async_wait<0>();

#pragma unroll
    for (int x = 0; x < kRowBlocks; ++x) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const long long row = at.row + warp_row + 16 * x + 8 * half + lane / 4;
        if (row >= p.rows) continue;
#pragma unroll
        for (int y = 0; y < kColumnBlocks; ++y) {
          const long long column = at.column + warp_column + 8 * y + lane % 4 * 2;
#pragma unroll
          for (int z = 0; z < 2; ++z) {
            if constexpr (SLICED) {
              store(p, total[x][y][2 * half + z], row, column + z);
            } else {
              store(p, sum[x][y][2 * half + z], row, column + z);
            }
          }
        }
      }
    }
  }
};

}  // namespace mgemm_kernel
