#include "numeric/packing.hpp"

#include <algorithm>
#include <cstdlib>

namespace mgemm {
namespace {

/// Lanes lie closer together than steps: read a step's lanes together.
void copy_by_step(const Lanes& source, int width, float* panel) {
  for (std::int64_t step = 0; step < source.steps; ++step) {
    const float* from = source.first + step * source.step_stride;
    float* to = panel + step * width;
    for (std::int64_t lane = 0; lane < source.lanes; ++lane) to[lane] = from[lane * source.lane_stride];
  }
}

/// Steps lie closer together than lanes: read a cache line of one lane before turning to the next, because lanes a
/// power of two apart share cache sets.
void copy_by_lane(const Lanes& source, int width, float* panel) {
  constexpr std::int64_t line = 16;
  for (std::int64_t begin = 0; begin < source.steps; begin += line) {
    const std::int64_t end = std::min(source.steps, begin + line);
    for (std::int64_t lane = 0; lane < source.lanes; ++lane) {
      const float* from = source.first + lane * source.lane_stride;
      for (std::int64_t step = begin; step < end; ++step) panel[step * width + lane] = from[step * source.step_stride];
    }
  }
}

void fill_up(const Lanes& source, int width, float* panel) {
  for (std::int64_t step = 0; step < source.steps; ++step) {
    for (std::int64_t lane = source.lanes; lane < width; ++lane) panel[step * width + lane] = 0;
  }
}

}  // namespace

void pack(const Lanes& source, int width, float* panels) {
  const bool by_step = std::abs(source.lane_stride) <= std::abs(source.step_stride);
  for (std::int64_t begin = 0; begin < source.lanes; begin += width, panels += width * source.steps) {
    Lanes part = source;
    part.first += begin * source.lane_stride;
    part.lanes = std::min<std::int64_t>(width, source.lanes - begin);
    if (by_step) {
      copy_by_step(part, width, panels);
    } else {
      copy_by_lane(part, width, panels);
    }
    if (part.lanes < width) fill_up(part, width, panels);
  }
}

}  // namespace mgemm
