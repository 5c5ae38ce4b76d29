// Products on tensor cores (contracts MMA_F32 and TF32): one thread block computes one tile of the output; each warp
// owns a part of it and runs one chain of fused sums per element, in ascending order of the reduction.
#pragma once
#include "epilogue.cuh"
#include "mma_operand.cuh"
#include "tile_position.cuh"

namespace mgemm_kernel {

// WARP_ROWS x WARP_COLUMNS warps compute. They copy, too, if COPY_WARPS is 0; else as many more warps do, so that
// chains of few columns do not wait for copies to be started. OUT is the output's type; SLICED adds up slices in f32,
// one after the other.
template <int OP, int TYPE, int OUT, int BM, int BN, int BK, int STAGES, int WARP_ROWS, int WARP_COLUMNS,
          int COPY_WARPS, int ALIGN, bool SLICED>
struct MmaTile {
  static constexpr int kComputing = 32 * WARP_ROWS * WARP_COLUMNS;
  static constexpr int kThreads = kComputing + 32 * COPY_WARPS;
  static constexpr int kCopying = COPY_WARPS == 0 ? kThreads : 32 * COPY_WARPS;
  using A = MmaOperand<TYPE, BM, BK, OP != TN, ALIGN, kCopying>;
  using B = MmaOperand<TYPE, BN, BK, OP == NT, ALIGN, kCopying>;
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kSharedBytes = STAGES * kStageBytes;
  static constexpr int kRowBlocks = BM / WARP_ROWS / 16;
  static constexpr int kColumnBlocks = BN / WARP_COLUMNS / 8;
  static_assert(BM == 16 * kRowBlocks * WARP_ROWS && BN == 8 * kColumnBlocks * WARP_COLUMNS, "whole fragments");
  static constexpr int kGroup = A::kGroup;
  static_assert(BK % kGroup == 0 && (!SLICED || 64 % BK == 0), "a slice ends with a stage");

  using Sums = float[kRowBlocks][kColumnBlocks][4];

  // Columns come in eights, two of them at a time where that goes without a rest.
  static constexpr int kTogether = kColumnBlocks % 2 == 0 ? 2 : 1;

  // What a warp multiplies in one step of its chains.
  struct Fragments {
    unsigned a[kRowBlocks][4];
    unsigned b[kColumnBlocks / kTogether][4];

    __device__ __forceinline__ void load(const unsigned char* stage, int row, int column, int step) {
#pragma unroll
      for (int x = 0; x < kRowBlocks; ++x) A::load_a(a[x], stage, row + 16 * x, step);
#pragma unroll
      for (int y = 0; y < kColumnBlocks / kTogether; ++y) {
        B::template load_b<8 * kTogether>(b[y], stage + A::kBytes, column + 8 * kTogether * y, step);
      }
    }
    __device__ __forceinline__ void multiply(Sums& sum) const {
#pragma unroll
      for (int y = 0; y < kColumnBlocks; ++y) {
        const unsigned* const columns = b[y / kTogether] + 2 * (y % kTogether);
#pragma unroll
        for (int x = 0; x < kRowBlocks; ++x) mma<TYPE>(sum[x][y], a[x], columns[0], columns[1]);
      }
    }
  };

  __device__ static __forceinline__ void run(const GemmParams& p) {
    extern __shared__ float4 dynamic_shared[];
    unsigned char* const shared = reinterpret_cast<unsigned char*>(dynamic_shared);
    const TilePosition at = tile_position<BM, BN>(p);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp_row = warp / WARP_COLUMNS * (16 * kRowBlocks);
    const int warp_column = warp % WARP_COLUMNS * (8 * kColumnBlocks);

    const bool computes = COPY_WARPS == 0 || threadIdx.x < kComputing;
    const bool copies = COPY_WARPS == 0 || !computes;

    const int copier = static_cast<int>(threadIdx.x) - (kThreads - kCopying);
    typename A::Source source_a(p.a, p.lda, at.row, p.rows, copier);
    typename B::Source source_b(p.b, p.ldb, at.column, p.columns, copier);
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

    if (copies) {
#pragma unroll
      for (int stage = 0; stage < STAGES - 1; ++stage) copy_stage(stage, static_cast<long long>(stage) * BK);
    }

    int stage = 0;
    for (long long step = 0; step < p.reduction; step += BK) {
      if (copies) cp_async_wait<STAGES - 2>();
      __syncthreads();  // the stage has arrived, and everyone has left the one that is filled next
      if (copies) copy_stage(stage == 0 ? STAGES - 1 : stage - 1, step + static_cast<long long>(STAGES - 1) * BK);
      if (computes) {
        const unsigned char* const base = shared + stage * kStageBytes;
        if (p.reduction - step >= BK) {
          Fragments fragments[2];  // the next while the last is multiplied
          fragments[0].load(base, warp_row, warp_column, 0);
#pragma unroll
          for (int group = 0; group < BK / kGroup; ++group) {
            if ((group + 1) * kGroup < BK) {
              fragments[(group + 1) % 2].load(base, warp_row, warp_column, (group + 1) * kGroup);
            }
            fragments[group % 2].multiply(sum);
          }
        } else {
          // As many groups as the contract has, the last filled up with zeros.
          const int left = static_cast<int>(p.reduction - step);
#pragma unroll 1
          for (int k = 0; k < left; k += kGroup) {
            Fragments fragments;
            fragments.load(base, warp_row, warp_column, k);
            fragments.multiply(sum);
          }
        }
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
    if (!computes) return;

    const auto result = [&](int x, int y) -> const float(&)[4] {
      if constexpr (SLICED) {
        return total[x][y];
      } else {
        return sum[x][y];
      }
    };
    const bool vectors = has_vector_rows<OUT, 2>(p);
#pragma unroll
    for (int x = 0; x < kRowBlocks; ++x) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const long long row = at.row + warp_row + 16 * x + 8 * half + lane / 4;
        if (row >= p.rows) continue;
#pragma unroll
        for (int y = 0; y < kColumnBlocks; ++y) {
          const auto& block = result(x, y);
          const float pair[2] = {block[2 * half], block[2 * half + 1]};
          store_row<OUT>(p, pair, row, at.column + warp_column + 8 * y + lane % 4 * 2, vectors);
        }
      }
    }
  }
};

}  // namespace mgemm_kernel
