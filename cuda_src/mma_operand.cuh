// One operand of a tensor-core product on its way from global memory through shared memory into fragments.
#pragma once
#include "convert.cuh"
#include "cp_async.cuh"
#include "mma.cuh"
#include "operand_panels.cuh"

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
// which way it is contiguous in memory; shared memory keeps that order, [extent][step] or [step][extent]. ALIGN (16, 8,
// 4 or 2) is what addresses and leading dimensions are multiples of, in bytes.
template <int TYPE, int EXTENT, int STEPS, bool ALONG_REDUCTION, int ALIGN, int THREADS>
struct MmaOperand {
  static constexpr bool kHalves = TYPE != TF32;
  using Bits = typename UnsignedOf<kHalves ? 2 : 4>::Type;
  static constexpr int kSize = sizeof(Bits);
  static constexpr int kGroup = 32 / kSize;  // steps of one product
  static constexpr int kInner = ALONG_REDUCTION ? STEPS : EXTENT;
  static constexpr int kOuter = ALONG_REDUCTION ? EXTENT : STEPS;
  // ldmatrix reads panels, and transposes where it must. It does not transpose words: their lines are whole and padded
  // instead, so that the 4 steps and 8 columns a warp reads together lie in different banks.
  static constexpr bool kPadded = !kHalves && !ALONG_REDUCTION;
  using Panels = OperandPanels<kSize, EXTENT, STEPS, ALONG_REDUCTION>;
  static constexpr int kLineBytes = kPadded ? kSize * kInner + 32 : Panels::kLineBytes;
  static constexpr int kPanels = kPadded ? 1 : Panels::kPanels;
  static constexpr int kPanelBytes = kOuter * kLineBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;
  static constexpr int kSpread = kPadded ? 1 : kLineBytes / 16;  // chunks of a line
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
  __device__ static __forceinline__ unsigned offset(unsigned outer, unsigned inner) {
    if constexpr (kPadded) return outer * kLineBytes + inner * kSize;
    const unsigned byte = inner * kSize;
    const unsigned chunk = byte % kLineBytes / 16 ^ outer / (8 / kSpread) % kSpread;
    return byte / kLineBytes * kPanelBytes + outer * kLineBytes + chunk * 16 + byte % 16;
  }

  // A thread's view of the operand in global memory. What lies past the last step is filled with zeros. What lies past
  // the extent is left as it is, or filled with zeros: it takes part in outputs only that do not exist.
  struct Source {
    const Bits* from;  // this thread's first element at step 0
    long long leading;
    int outer, inner;  // where it copies to
    int extent_left;   // from the tile's first, at most EXTENT

    // `thread` is one of THREADS that copy.
    __device__ __forceinline__ Source(const void* global, long long lead, long long first, long long extent, int thread)
        : leading(lead), outer(thread / kThreadsInner), inner(thread % kThreadsInner * kWidth) {
      from = static_cast<const Bits*>(global) +
             (ALONG_REDUCTION ? (first + outer) * lead + inner : outer * lead + first + inner);
      extent_left = extent - first < EXTENT ? static_cast<int>(extent - first) : EXTENT;
    }

    // Starts the copies of a stage from `step`, of which `steps_left` steps exist.
    __device__ __forceinline__ void copy(unsigned char* shared, long long step, long long steps_left) const {
      if (kLeftOver && outer >= kOuterStep) return;
      if (!ALONG_REDUCTION && inner >= extent_left) return;
      const Bits* const next = from + (ALONG_REDUCTION ? step : step * leading);
      const int steps = steps_left < STEPS ? static_cast<int>(steps_left) : STEPS;
      const int inner_left = (ALONG_REDUCTION ? steps : extent_left) - inner;
      const int width = inner_left <= 0 ? 0 : inner_left < kWidth ? inner_left : kWidth;
#pragma unroll 8
      for (int round = 0; round < kRounds; ++round) {
        const int line = outer + round * kOuterStep;
        if (kOuter % kOuterStep != 0 && line >= kOuter) break;
        if (ALONG_REDUCTION && line >= extent_left) break;
        const int valid = ALONG_REDUCTION || line < steps ? width : 0;
        const Bits* const source = next + round * (kOuterStep * leading);
        unsigned char* const target = shared + offset(line, inner);
        if constexpr (ALIGN >= 4) {
          cp_async<ALIGN>(shared_address(target), source, kSize * valid);
        } else {
          // cp.async takes no less than 4 bytes.
          *reinterpret_cast<Bits*>(target) = valid > 0 ? *source : static_cast<Bits>(0);
        }
      }
    }
  };

  // A lane's view of its warp's rows or columns in a stage: BLOCKS times WIDTH (8 or 16) of them. EXTENT_STRIDE is 1 if
  // the second of the matrices it loads together lies beside the first along the extent, 2 if it does along the
  // reduction. All that depends on the lane is worked out once; the rest are constants.
  template <int BLOCKS, int WIDTH, int EXTENT_STRIDE>
  struct Reader {
    static constexpr int kMatrices = WIDTH / 4;
    static constexpr int kStepStride = 3 - EXTENT_STRIDE;
    // Only bits of the permutation are not just added to an address: those of the group within its line, or of the
    // block.
    static constexpr int kGroupsInLine = kLineBytes / 32;
    static constexpr int kBlocksInLine = kLineBytes / (kSize * WIDTH);
    static constexpr int kAddresses = kPadded                  ? 1
                                      : ALONG_REDUCTION        ? kGroupsInLine
                                      : BLOCKS < kBlocksInLine ? BLOCKS
                                                               : kBlocksInLine;
    unsigned at[kAddresses];

    // `shared` is the address of an operand's stage, and `first` the warp's first row or column.
    __device__ __forceinline__ Reader(unsigned shared, unsigned first) {
      const unsigned lane = threadIdx.x % 32;
      if constexpr (kPadded) {
        at[0] = shared + offset(lane % 4, first + lane / 4);
      } else {
        const unsigned matrix = lane / 8 % kMatrices;
        const unsigned extent = first + matrix / EXTENT_STRIDE % 2 * 8;
        const unsigned step = matrix / kStepStride % 2 * (kGroup / 2);
#pragma unroll
        for (int i = 0; i < kAddresses; ++i) {
          at[i] = shared + (ALONG_REDUCTION ? offset(extent + lane % 8, step + i * kGroup)
                                            : offset(step + lane % 8, extent + i * WIDTH));
        }
      }
    }

    // Of the stage that lies `bytes` further on.
    __device__ __forceinline__ void move(unsigned bytes) {
#pragma unroll
      for (int i = 0; i < kAddresses; ++i) at[i] += bytes;
    }

    // A block at the steps of a group of the stage, in 8x8 matrices of halves or 8x4 of words. `block` and `group` are
    // constants where it is called.
    __device__ __forceinline__ void load(unsigned (&values)[4], int block, int group) const {
      if constexpr (kPadded) {
#pragma unroll
        for (int matrix = 0; matrix < kMatrices; ++matrix) {
          const int extent = block * WIDTH + matrix / EXTENT_STRIDE % 2 * 8;
          const int step = group * kGroup + matrix / kStepStride % 2 * 4;
          values[matrix] = load_shared(at[0] + step * kLineBytes + extent * kSize);
        }
      } else if constexpr (ALONG_REDUCTION) {
        ldmatrix<kMatrices, false>(
            values, at[group % kAddresses] + group / kAddresses * kPanelBytes + block * (WIDTH * kLineBytes));
      } else {
        ldmatrix<kMatrices, true>(
            values, at[block % kAddresses] + block / kAddresses * kPanelBytes + group * (kGroup * kLineBytes));
      }
      if constexpr (!kHalves) {
#pragma unroll
        for (int i = 0; i < kMatrices; ++i) values[i] = to_tf32(values[i]);
      }
    }
  };
};

// An operand's view where it may be aligned better than its kernel asks for, as one of two often is: then copies are as
// wide as they can be. WIDE is the MmaOperand with the widest.
template <class NARROW, class WIDE>
struct EitherSource {
  bool is_wide;
  typename NARROW::Source narrow;
  typename WIDE::Source wide;

  __device__ __forceinline__ EitherSource(const void* global, long long lead, long long first, long long extent,
                                          int thread)
      : is_wide((reinterpret_cast<unsigned long long>(global) | lead * WIDE::kSize) % 16 == 0),
        narrow(global, lead, first, extent, thread),
        wide(global, lead, first, extent, thread) {}

  __device__ __forceinline__ void copy(unsigned char* shared, long long step, long long steps_left) const {
    if (is_wide) {
      wide.copy(shared, step, steps_left);
    } else {
      narrow.copy(shared, step, steps_left);
    }
  }
};
template <class WIDE>
struct EitherSource<WIDE, WIDE> : WIDE::Source {
  using WIDE::Source::Source;
};

}  // namespace mgemm_kernel
