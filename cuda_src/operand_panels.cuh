// How a stage of a tensor-core operand lies in shared memory, and how the copy engine fills it.
#pragma once
#include "tensor_copy.cuh"

namespace mgemm_kernel {

// An operand gives EXTENT rows (a) or columns (b) of a tile, STEPS reduction steps at a time, in elements of SIZE
// bytes. ALONG_REDUCTION says which way it is contiguous in memory; shared memory keeps that order, [extent][step] or
// [step][extent]. A stage is cut into panels of lines of whole 16-byte chunks, which are permuted so that 8 lines lie
// in different banks, as the copy engine does it ("swizzle").
template <int SIZE, int EXTENT, int STEPS, bool ALONG_REDUCTION>
struct OperandPanels {
  static constexpr int kInner = ALONG_REDUCTION ? STEPS : EXTENT;
  static constexpr int kOuter = ALONG_REDUCTION ? EXTENT : STEPS;
  static constexpr int kLineBytes = panel_bytes(SIZE * kInner);
  static constexpr int kLineElements = kLineBytes / SIZE;
  static constexpr int kPanels = kInner / kLineElements;
  static constexpr int kPanelBytes = kOuter * kLineBytes;
  static constexpr int kBytes = kPanels * kPanelBytes;

  // Lets the copy engine fill a stage: the operand's EXTENT rows or columns from `first`, at STEPS steps from `step`.
  // What does not exist becomes zeros. Called by one thread. With PARTS, each of so many thread blocks of a cluster
  // loads one part of the lines, for all of them.
  template <int PARTS = 1>
  __device__ static __forceinline__ void load(const TensorMap& map, unsigned stage, unsigned barrier, int first,
                                              int step, int part = 0) {
    constexpr int kLines = kOuter / PARTS;
    static_assert(kOuter % PARTS == 0 && kLines <= 256 && kLines % 8 == 0, "boxes as large as they may be");
    const int line = part * kLines;
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const int along = panel * kLineElements;
      const unsigned destination = stage + panel * kPanelBytes + line * kLineBytes;
      // What lies past 2^31 lies outside, however it is called.
      const int inner = static_cast<int>(static_cast<unsigned>(ALONG_REDUCTION ? step : first) + along);
      const int outer = static_cast<int>(static_cast<unsigned>(ALONG_REDUCTION ? first : step) + line);
      if constexpr (PARTS == 1) {
        tensor_load(map, destination, barrier, inner, outer);
      } else {
        tensor_load_for_all(map, destination, barrier, inner, outer, (1u << PARTS) - 1);
      }
    }
  }
};

}  // namespace mgemm_kernel
