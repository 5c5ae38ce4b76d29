// One operand of an exact-f32 product on its way from global memory through shared memory into registers.
#pragma once
#include "cp_async.cuh"

namespace mgemm_kernel {

// An operand gives EXTENT rows (a) or columns (b) of a tile, STEPS reduction steps at a time. ALONG_REDUCTION says
// which way it is contiguous in memory; shared memory keeps that order, so that no operand is ever transposed:
//   true:  [extent][step], rows padded by 4 words, so that 8 neighbouring rows read as 16-byte vectors without conflict
//   false: [step][extent]
// Each of LANES thread positions owns EXTENT / LANES rows: interleaved by LANES in the first case, in groups of four
// neighbours in the second. VECTOR (2 or 4) is how many steps a thread reads at a time along the reduction: 4 needs
// fewer instructions, 2 fewer registers.
template <int EXTENT, int STEPS, int LANES, bool ALONG_REDUCTION, int ALIGN, int THREADS, int VECTOR>
struct F32Operand {
  static constexpr int kOwned = EXTENT / LANES;
  static constexpr int kInner = ALONG_REDUCTION ? STEPS : EXTENT;
  static constexpr int kOuter = ALONG_REDUCTION ? EXTENT : STEPS;
  static constexpr int kStride = ALONG_REDUCTION ? STEPS + 4 : EXTENT;
  static constexpr int kFloats = kOuter * kStride;
  // Copies: each thread keeps its place along the inner dimension and walks down the outer one.
  static constexpr int kWidth = ALIGN / 4;
  static constexpr int kThreadsInner = kInner / kWidth;
  static constexpr int kOuterStep = THREADS / kThreadsInner;
  static constexpr int kRounds = (kOuter + kOuterStep - 1) / kOuterStep;
  static_assert(ALONG_REDUCTION || kOwned % 4 == 0, "vectors of four neighbours");
  static_assert(STEPS % 4 == 0 && kInner % kWidth == 0 && THREADS % kThreadsInner == 0, "whole copies");

  __device__ static __forceinline__ int owned_index(int lane, int x) {
    return ALONG_REDUCTION ? lane + LANES * x : (x / 4) * (4 * LANES) + 4 * lane + x % 4;
  }

  // A thread's view of the operand in global memory. Rows at or past `extent` and steps at or past the end are filled
  // with zeros that no stored result depends on.
  struct Source {
    const float* next;  // this thread's first element of the stage to copy
    long long leading;
    int extent_left;  // rows from the tile's first, at most EXTENT

    __device__ __forceinline__ Source(const float* global, long long lead, long long first, long long extent)
        : leading(lead) {
      const int outer = static_cast<int>(threadIdx.x) / kThreadsInner;
      const int inner = static_cast<int>(threadIdx.x) % kThreadsInner * kWidth;
      next = global + (ALONG_REDUCTION ? (first + outer) * lead + inner : outer * lead + first + inner);
      extent_left = extent - first < EXTENT ? static_cast<int>(extent - first) : EXTENT;
    }

    // Starts the copies of a stage of which `steps_left` steps exist, and moves on to the next.
    __device__ __forceinline__ void copy(float* shared, long long steps_left) {
      const int outer = static_cast<int>(threadIdx.x) / kThreadsInner;
      const int inner = static_cast<int>(threadIdx.x) % kThreadsInner * kWidth;
      const int steps = steps_left < STEPS ? static_cast<int>(steps_left) : STEPS;
      const int outer_end = ALONG_REDUCTION ? extent_left : steps;
      const int inner_left = (ALONG_REDUCTION ? steps : extent_left) - inner;
      const int width = inner_left <= 0 ? 0 : inner_left < kWidth ? inner_left : kWidth;
      const unsigned target = shared_address(shared + outer * kStride + inner);
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int line = outer + round * kOuterStep;
        if (kOuter % kOuterStep != 0 && line >= kOuter) break;
        const int valid = line < outer_end ? width : 0;
        cp_async<ALIGN>(target + round * kOuterStep * kStride * 4, next + round * (kOuterStep * leading), valid * 4);
      }
      next += ALONG_REDUCTION ? STEPS : STEPS * leading;
    }
  };

  // The owned values of a thread; along the reduction they come VECTOR steps at a time.
  struct Fragment {
    static_assert(VECTOR == 2 || VECTOR == 4, "float2 or float4");
    float values[ALONG_REDUCTION ? VECTOR : 1][kOwned];

    // Makes `step` available at at(step), for steps from 0 upwards without a gap.
    __device__ __forceinline__ void load(const float* shared, int lane, int step) {
      if constexpr (ALONG_REDUCTION) {
        if (step % VECTOR != 0) return;
#pragma unroll
        for (int x = 0; x < kOwned; ++x) {
          const float* const source = shared + owned_index(lane, x) * kStride + step;
          if constexpr (VECTOR == 4) {
            const float4 v = *reinterpret_cast<const float4*>(source);
            values[0][x] = v.x;
            values[1][x] = v.y;
            values[2][x] = v.z;
            values[3][x] = v.w;
          } else {
            const float2 v = *reinterpret_cast<const float2*>(source);
            values[0][x] = v.x;
            values[1][x] = v.y;
          }
        }
      } else {
#pragma unroll
        for (int x = 0; x < kOwned; x += 4) {
          const float4 v = *reinterpret_cast<const float4*>(shared + step * kStride + owned_index(lane, x));
          values[0][x] = v.x;
          values[0][x + 1] = v.y;
          values[0][x + 2] = v.z;
          values[0][x + 3] = v.w;
        }
      }
    }
    __device__ __forceinline__ const float (&at(int step) const)[kOwned] {
      return values[ALONG_REDUCTION ? step % VECTOR : 0];
    }

    // Makes one step available at at(0), for the last steps of a reduction.
    __device__ __forceinline__ void load_one(const float* shared, int lane, int step) {
#pragma unroll
      for (int x = 0; x < kOwned; ++x) {
        const int i = owned_index(lane, x);
        values[0][x] = shared[ALONG_REDUCTION ? i * kStride + step : step * kStride + i];
      }
    }
  };
};

}  // namespace mgemm_kernel
