// One operand of a tensor-core product on its way from global memory through shared memory into fragments.
#pragma once
#include "cp_async.cuh"
#include "mma.cuh"

namespace mgemm_kernel {

// An operand gives EXTENT rows (a) or columns (b) of a tile, STEPS reduction steps at a time. ALONG_REDUCTION says
// which way it is contiguous in memory; shared memory keeps that order, [extent][step] or [step][extent], and ldmatrix
// transposes where it must. Lines are of whole 16-byte chunks, which are permuted so that the 8 rows of a matrix lie in
// different banks. ALIGN (16 or 2) is what addresses and leading dimensions are multiples of, in bytes.
template <int EXTENT, int STEPS, bool ALONG_REDUCTION, int ALIGN, int THREADS>
struct MmaOperand {
  static constexpr int kInner = ALONG_REDUCTION ? STEPS : EXTENT;
  static constexpr int kOuter = ALONG_REDUCTION ? EXTENT : STEPS;
  static constexpr int kLineBytes = 2 * kInner;
  static constexpr int kBytes = kOuter * kLineBytes;
  static constexpr int kChunks = kLineBytes / 16;
  static constexpr int kSpread = kChunks < 8 ? kChunks : 8;
  // Copies: each thread keeps its place along the inner dimension and walks down the outer one.
  static constexpr int kWidth = ALIGN / 2;
  static constexpr int kThreadsInner = kInner / kWidth < THREADS ? kInner / kWidth : THREADS;
  static constexpr int kOuterStep = THREADS / kThreadsInner;
  static constexpr int kRounds = (kOuter + kOuterStep - 1) / kOuterStep;
  static_assert(kInner % 16 == 0 && (kChunks & (kChunks - 1)) == 0, "whole chunks, a power of two of them");
  static_assert(kInner == kThreadsInner * kWidth && THREADS % kThreadsInner == 0, "whole copies");

  // Byte offset of an element; `inner` within its chunk is kept.
  __device__ static __forceinline__ int offset(int outer, int inner) {
    const int chunk = inner / 8 ^ outer / (8 / kSpread) % kSpread;
    return outer * kLineBytes + chunk * 16 + inner % 8 * 2;
  }

  // A thread's view of the operand in global memory. What lies past its extent or its last step is filled with zeros.
  struct Source {
    const unsigned short* next;  // this thread's first element of the stage to copy
    long long leading;
    int extent_left;  // from the tile's first, at most EXTENT

    __device__ __forceinline__ Source(const void* global, long long lead, long long first, long long extent)
        : leading(lead) {
      const int outer = static_cast<int>(threadIdx.x) / kThreadsInner;
      const int inner = static_cast<int>(threadIdx.x) % kThreadsInner * kWidth;
      next = static_cast<const unsigned short*>(global) +
             (ALONG_REDUCTION ? (first + outer) * lead + inner : outer * lead + first + inner);
      extent_left = extent - first < EXTENT ? static_cast<int>(extent - first) : EXTENT;
    }

    // Starts the copies of a stage of which `steps_left` steps exist, and moves on to the next.
    __device__ __forceinline__ void copy(unsigned char* shared, long long steps_left) {
      const int outer = static_cast<int>(threadIdx.x) / kThreadsInner;
      const int inner = static_cast<int>(threadIdx.x) % kThreadsInner * kWidth;
      const int steps = steps_left < STEPS ? static_cast<int>(steps_left) : STEPS;
      const int outer_end = ALONG_REDUCTION ? extent_left : steps;
      const int inner_left = (ALONG_REDUCTION ? steps : extent_left) - inner;
      const int width = inner_left <= 0 ? 0 : inner_left < kWidth ? inner_left : kWidth;
#pragma unroll
      for (int round = 0; round < kRounds; ++round) {
        const int line = outer + round * kOuterStep;
        if (kOuter % kOuterStep != 0 && line >= kOuter) break;
        const int valid = line < outer_end ? width : 0;
        const unsigned short* const source = next + round * (kOuterStep * leading);
        unsigned char* const target = shared + offset(line, inner);
        if constexpr (ALIGN == 16) {
          cp_async<16>(shared_address(target), source, 2 * valid);
        } else {
          // cp.async takes no less than 4 bytes.
          *reinterpret_cast<unsigned short*>(target) = valid > 0 ? *source : static_cast<unsigned short>(0);
        }
      }
      next += ALONG_REDUCTION ? STEPS : STEPS * leading;
    }
  };

  // The fragment a[0 .. 3] of 16 rows from `first` at 16 steps from `step`.
  __device__ static __forceinline__ void load_a(unsigned (&a)[4], const unsigned char* shared, int first, int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = first + lane / 8 % 2 * 8;
    const int k = step + lane / 16 * 8;
    const int at = ALONG_REDUCTION ? offset(row + lane % 8, k) : offset(k + lane % 8, row);
    ldmatrix_x4<!ALONG_REDUCTION>(a, shared_address(shared + at));
  }

  // b0 and b1 of 8 columns from `first`, and of the next 8, at 16 steps from `step`.
  __device__ static __forceinline__ void load_b(unsigned (&b)[4], const unsigned char* shared, int first, int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int column = first + lane / 16 * 8;
    const int k = step + lane / 8 % 2 * 8;
    const int at = ALONG_REDUCTION ? offset(column + lane % 8, k) : offset(k + lane % 8, column);
    ldmatrix_x4<!ALONG_REDUCTION>(b, shared_address(shared + at));
  }
};

}  // namespace mgemm_kernel
