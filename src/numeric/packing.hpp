#pragma once
#include <cstdint>

namespace mgemm {

/// One operand of the micro-kernel as it lies in memory: `lanes` output rows or columns, each a chain of `steps`.
struct Lanes {
  const float* first;  // element (lane, step) at first[lane * lane_stride + step * step_stride]
  std::int64_t lanes, lane_stride;
  std::int64_t steps, step_stride;
};

/// Copies the lanes into panels of `width`, one after the other, each stored step by step: what the micro-kernel reads
/// is contiguous, whatever the operand's strides were. The last panel is filled up with zeros, whose products nobody
/// reads. `panels` has room for ceil(lanes / width) * width * steps.
void pack(const Lanes& source, int width, float* panels);

}  // namespace mgemm
