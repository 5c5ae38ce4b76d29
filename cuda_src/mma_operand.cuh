// One operand of a tensor-core product on its way from global memory through shared memory into fragments.
#pragma once
#include "convert.cuh"
#include "cp_async.cuh"
#include "mma.cuh"

namespace mgemm_kernel {

template <int BYTES>
struct UnsignedOf {
  using Type = unsigned short;
};
template <>
struct UnsignedOf<4> {
  using Type = unsigned;
};

// An operand gives EXTENT rows (a) or columns (b) of a tile, STEPS reduction steps at a time. ALONG_REDUCTION says
// which way it is contiguous in memory; shared memory keeps that order, [extent][step] or [step][extent]. ALIGN (16, 4
// or 2) is what addresses and leading dimensions are multiples of, in bytes.
template <int TYPE, int EXTENT, int STEPS, bool ALONG_REDUCTION, int ALIGN, int THREADS>
struct MmaOperand {
  static constexpr bool kHalves = TYPE != TF32;
  using Bits = typename UnsignedOf<kHalves ? 2 : 4>::Type;
  static constexpr int kSize = sizeof(Bits);
  static constexpr int kGroup = 32 / kSize;  // steps of one product
  static constexpr int kPerChunk = 16 / kSize;
  static constexpr int kInner = ALONG_REDUCTION ? STEPS : EXTENT;
  static constexpr int kOuter = ALONG_REDUCTION ? EXTENT : STEPS;
  // Lines are of whole 16-byte chunks, which are permuted so that the 8 rows of a matrix lie in different banks, and
  // ldmatrix transposes where it must. It does not transpose words: their lines are padded instead, so that the 4 steps
  // and 8 columns a warp reads together lie in different banks.
  static constexpr bool kPadded = !kHalves && !ALONG_REDUCTION;
  static constexpr int kLineBytes = kSize * kInner + (kPadded ? 32 : 0);
  static constexpr int kBytes = kOuter * kLineBytes;
  static constexpr int kChunks = kSize * kInner / 16;
  static constexpr int kSpread = (kChunks & -kChunks) < 8 ? (kChunks & -kChunks) : 8;
  // Copies: each thread keeps its place along the inner dimension and walks down the outer one. A few threads may be
  // left over.
  static constexpr int kWidth = ALIGN / kSize;
  static constexpr int kThreadsInner = kInner / kWidth < THREADS ? kInner / kWidth : THREADS;
  static constexpr int kOuterStep = THREADS / kThreadsInner;
  static constexpr int kRounds = (kOuter + kOuterStep - 1) / kOuterStep;
  static constexpr bool kLeftOver = kOuterStep * kThreadsInner != THREADS;
  static_assert(ALIGN % kSize == 0 && kSize * kInner % 16 == 0, "lines of whole chunks");
  static_assert(kInner == kThreadsInner * kWidth, "whole copies");

  // Byte offset of an element.
  __device__ static __forceinline__ int offset(int outer, int inner) {
    if constexpr (kPadded) return outer * kLineBytes + inner * kSize;
    const int chunk = inner / kPerChunk ^ outer / (8 / kSpread) % kSpread;
    return outer * kLineBytes + chunk * 16 + inner % kPerChunk * kSize;
  }

  // A thread's view of the operand in global memory. What lies past its extent or its last step is filled with zeros.
  struct Source {
    const Bits* next;  // this thread's first element of the stage to copy
    long long leading;
    int outer, inner;  // where it copies to
    int extent_left;   // from the tile's first, at most EXTENT

    // `thread` is one of THREADS that copy.
    __device__ __forceinline__ Source(const void* global, long long lead, long long first, long long extent, int thread)
        : leading(lead), outer(thread / kThreadsInner), inner(thread % kThreadsInner * kWidth) {
      next = static_cast<const Bits*>(global) +
             (ALONG_REDUCTION ? (first + outer) * lead + inner : outer * lead + first + inner);
      extent_left = extent - first < EXTENT ? static_cast<int>(extent - first) : EXTENT;
    }

    // Starts the copies of a stage of which `steps_left` steps exist, and moves on to the next.
    __device__ __forceinline__ void copy(unsigned char* shared, long long steps_left) {
      if (kLeftOver && outer >= kOuterStep) return;
      const int steps = steps_left < STEPS ? static_cast<int>(steps_left) : STEPS;
      const int outer_end = ALONG_REDUCTION ? extent_left : steps;
      const int inner_left = (ALONG_REDUCTION ? steps : extent_left) - inner;
      const int width = inner_left <= 0 ? 0 : inner_left < kWidth ? inner_left : kWidth;
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int line = outer + round * kOuterStep;
        if (kOuter % kOuterStep != 0 && line >= kOuter) break;
        const int valid = line < outer_end ? width : 0;
        const Bits* const source = next + round * (kOuterStep * leading);
        unsigned char* const target = shared + offset(line, inner);
        if constexpr (ALIGN >= 4) {
          cp_async<ALIGN>(shared_address(target), source, kSize * valid);
        } else {
          // cp.async takes no less than 4 bytes.
          *reinterpret_cast<Bits*>(target) = valid > 0 ? *source : static_cast<Bits>(0);
        }
      }
      next += ALONG_REDUCTION ? STEPS : STEPS * leading;
    }
  };

  // Rows or columns from `first` at kGroup steps from `step`, in MATRICES matrices of 8x8 halves or 8x4 words.
  // EXTENT_STRIDE is 1 if the second matrix lies beside the first along the extent, 2 if it does along the reduction.
  template <int EXTENT_STRIDE, int MATRICES>
  __device__ static __forceinline__ void load(unsigned (&values)[4], const unsigned char* shared, int first, int step) {
    constexpr int kStepStride = 3 - EXTENT_STRIDE;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kPadded) {
#pragma unroll
      for (int matrix = 0; matrix < MATRICES; ++matrix) {
        const int inner = first + matrix / EXTENT_STRIDE % 2 * 8 + lane / 4;
        const int outer = step + matrix / kStepStride % 2 * 4 + lane % 4;
        values[matrix] = *reinterpret_cast<const unsigned*>(shared + offset(outer, inner));
      }
    } else {
      const int matrix = lane / 8 % MATRICES;
      const int extent = first + matrix / EXTENT_STRIDE % 2 * 8;
      const int k = step + matrix / kStepStride % 2 * (kGroup / 2);
      const int at = ALONG_REDUCTION ? offset(extent + lane % 8, k) : offset(k + lane % 8, extent);
      ldmatrix<MATRICES, !ALONG_REDUCTION>(values, shared_address(shared + at));
    }
    if constexpr (!kHalves) {
#pragma unroll
      for (int i = 0; i < MATRICES; ++i) values[i] = to_tf32(values[i]);
    }
  }

  // The fragment a[0 .. 3] of 16 rows.
  __device__ static __forceinline__ void load_a(unsigned (&a)[4], const unsigned char* shared, int first, int step) {
    load<1, 4>(a, shared, first, step);
  }
  // b0 and b1 of COLUMNS (8 or 16) columns, eight by eight.
  template <int COLUMNS>
  __device__ static __forceinline__ void load_b(unsigned (&b)[4], const unsigned char* shared, int first, int step) {
    load<2, COLUMNS / 4>(b, shared, first, step);
  }
};

}  // namespace mgemm_kernel
