#pragma once
#include <cstdint>

#include "numeric/encoding.hpp"
#include "numeric/problem.hpp"

namespace mgemm {

/// One operand of the micro-kernel as it lies in memory: `lanes` output rows or columns, each a chain of `steps`.
struct Lanes {
  const void* first;  // element (lane, step) at first[lane * lane_stride + step * step_stride]
  Type type;
  std::int64_t lanes, lane_stride;
  std::int64_t steps, step_stride;
};

/// Copies the lanes into panels of `width`, one after the other, each stored step by step: what the micro-kernel reads
/// is contiguous, whatever the operand's strides were. Elements are floats, or words of fused sums unless the type is
/// f32. Steps are filled up with zeros to a multiple of the type's group, and the last panel with lanes of zeros, whose
/// products nobody reads. `panels` has room for 4 bytes a step and lane, filling included.
void pack(const Lanes& source, Side side, int width, void* panels);

}  // namespace mgemm
