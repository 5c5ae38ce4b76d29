// Exact f32 products (contract F32_FMA): one thread block computes one tile of the output; each thread owns a register
// block of it and runs one chain of fused multiply-adds per element, in ascending order of the reduction.
#pragma once
#include "epilogue.cuh"
#include "f32_operand.cuh"
#include "tile_position.cuh"

namespace mgemm_kernel {

// How a thread adds up its slices; F32_SINGLE is one chain and nothing to add.
enum F32Fold { F32_SINGLE = 0, F32_FOLD_F32 = 1, F32_FOLD_F64 = 2 };

template <int FOLD>
struct F32Total {
  using Value = float;
  __device__ static __forceinline__ Value first(float partial) { return partial; }
  __device__ static __forceinline__ Value add(Value total, float partial) { return __fadd_rn(total, partial); }
  __device__ static __forceinline__ float rounded(Value total) { return total; }
};
template <>
struct F32Total<F32_FOLD_F64> {
  using Value = double;
  __device__ static __forceinline__ Value first(float partial) { return static_cast<double>(partial); }
  __device__ static __forceinline__ Value add(Value total, float partial) {
    return __dadd_rn(total, static_cast<double>(partial));
  }
  // Unlike those of f32, the f64 pipe's NaNs are not the contract's.
  __device__ static __forceinline__ float rounded(Value total) {
    const float value = __double2float_rn(total);
    return value == value ? value : __int_as_float(0x7fffffff);
  }
};

// ROW_LANES x COLUMN_LANES threads; rows and columns a thread are BM / ROW_LANES and BN / COLUMN_LANES.
template <int OP, int BM, int BN, int BK, int STAGES, int ROW_LANES, int COLUMN_LANES, int ALIGN, int VECTOR, int FOLD>
struct F32Tile {
  static constexpr int kThreads = ROW_LANES * COLUMN_LANES;
  using A = F32Operand<BM, BK, ROW_LANES, OP != TN, ALIGN, kThreads, VECTOR>;
  using B = F32Operand<BN, BK, COLUMN_LANES, OP == NT, ALIGN, kThreads, VECTOR>;
  static constexpr int kRows = A::kOwned;
  static constexpr int kColumns = B::kOwned;
  static constexpr int kStageFloats = A::kFloats + B::kFloats;
  static constexpr int kSharedBytes = STAGES * kStageFloats * 4;
  static constexpr bool kSliced = FOLD != F32_SINGLE;
  using Total = F32Total<FOLD>;

  // A warp covers 4 x 8 thread positions.
  static constexpr int kWarpColumns = COLUMN_LANES / 8;
  static_assert(ROW_LANES % 4 == 0 && COLUMN_LANES % 8 == 0, "whole warps");

  __device__ static __forceinline__ void multiply(float (&sum)[kRows][kColumns], const float (&a)[kRows],
                                                  const float (&b)[kColumns]) {
#pragma unroll
    for (int x = 0; x < kRows; ++x) {
#pragma unroll
      for (int y = 0; y < kColumns; ++y) sum[x][y] = __fmaf_rn(a[x], b[y], sum[x][y]);
    }
  }

  __device__ static __forceinline__ void run(const GemmParams& p) {
    extern __shared__ float4 dynamic_shared[];
    float* const shared = reinterpret_cast<float*>(dynamic_shared);
    const TilePosition at = tile_position<BM, BN>(p, blockIdx.x);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row_lane = warp / kWarpColumns * 4 + lane / 8;
    const int column_lane = warp % kWarpColumns * 8 + lane % 8;

    typename A::Source source_a(static_cast<const float*>(p.a), p.lda, at.row, p.rows);
    typename B::Source source_b(static_cast<const float*>(p.b), p.ldb, at.column, p.columns);
    // Starts the copies of the stage at reduction step `step`, if it exists. Called for ascending steps.
    const auto copy_stage = [&](int stage, long long step) {
      if (step < p.reduction) {
        float* const base = shared + stage * kStageFloats;
        source_a.copy(base, p.reduction - step);
        source_b.copy(base + A::kFloats, p.reduction - step);
      }
      cp_async_commit();
    };

    float sum[kRows][kColumns] = {};
    typename Total::Value total[kSliced ? kRows : 1][kSliced ? kColumns : 1];
    long long slice_end = p.slice_length;
    bool first_slice = true;

#pragma unroll
    for (int stage = 0; stage < STAGES - 1; ++stage) copy_stage(stage, static_cast<long long>(stage) * BK);

    typename A::Fragment fragment_a;
    typename B::Fragment fragment_b;
    int stage = 0;
    for (long long step = 0; step < p.reduction; step += BK) {
      cp_async_wait<STAGES - 2>();
      __syncthreads();  // the stage has arrived, and everyone has left the one that is filled next
      copy_stage(stage == 0 ? STAGES - 1 : stage - 1, step + static_cast<long long>(STAGES - 1) * BK);
      const float* const a = shared + stage * kStageFloats;
      const float* const b = a + A::kFloats;
      if (p.reduction - step >= BK) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {
          fragment_a.load(a, row_lane, k);
          fragment_b.load(b, column_lane, k);
          multiply(sum, fragment_a.at(k), fragment_b.at(k));
        }
      } else {
        // Steps beyond the end are not executed: a padded step would turn a sum of -0 into +0.
        const int left = static_cast<int>(p.reduction - step);
#pragma unroll 1
        for (int k = 0; k < left; ++k) {
          fragment_a.load_one(a, row_lane, k);
          fragment_b.load_one(b, column_lane, k);
          multiply(sum, fragment_a.at(0), fragment_b.at(0));
        }
      }
      stage = stage == STAGES - 1 ? 0 : stage + 1;
      if constexpr (kSliced) {
        // Slice lengths are multiples of 64, so a slice ends with a stage.
        if (step + BK >= slice_end || step + BK >= p.reduction) {
#pragma unroll
          for (int x = 0; x < kRows; ++x) {
#pragma unroll
            for (int y = 0; y < kColumns; ++y) {
              total[x][y] = first_slice ? Total::first(sum[x][y]) : Total::add(total[x][y], sum[x][y]);
              sum[x][y] = 0.0f;
            }
          }
          first_slice = false;
          slice_end += p.slice_length;
        }
      }
    }
    cp_async_wait<0>();

    // Four columns of a thread lie side by side, but for NT.
    constexpr int kTogether = OP != NT ? 4 : 1;
    const bool vectors = has_vector_rows<F32, kTogether>(p);
#pragma unroll
    for (int x = 0; x < kRows; ++x) {
      OutputPiece<F32, kTogether> pieces[kColumns / kTogether];
#pragma unroll
      for (int y = 0; y < kColumns / kTogether; ++y) {
        pieces[y].load(p, at.row + A::owned_index(row_lane, x), at.column + B::owned_index(column_lane, y * kTogether),
                       vectors);
      }
#pragma unroll
      for (int y = 0; y < kColumns / kTogether; ++y) {
        float values[kTogether];
#pragma unroll
        for (int z = 0; z < kTogether; ++z) {
          if constexpr (kSliced) {
            values[z] = Total::rounded(total[x][y * kTogether + z]);
          } else {
            values[z] = sum[x][y * kTogether + z];
          }
        }
        pieces[y].store(p, values);
      }
    }
  }
};

}  // namespace mgemm_kernel
