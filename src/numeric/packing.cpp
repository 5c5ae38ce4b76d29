#include "numeric/packing.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/checked.hpp"
#include "numeric/contract.hpp"
#include "numeric/encoding.hpp"

namespace mgemm {
namespace {

/// A panel: at most `width` lanes.
template <typename Code>
class Panel {
 public:
  Panel(const Lanes& source, std::int64_t first_lane, int width, typename Code::Packed* to)
      : from_(static_cast<const typename Code::Element*>(source.first) + first_lane * source.lane_stride),
        source_(source),
        lanes_(std::min<std::int64_t>(width, source.lanes - first_lane)),
        width_(width),
        to_(to) {}

  /// Lanes lie closer together than steps: read a step's lanes together.
  void copy_by_step() const {
    for (std::int64_t step = 0; step < source_.steps; ++step) {
      for (std::int64_t lane = 0; lane < lanes_; ++lane) copy(lane, step);
    }
  }

  /// Steps lie closer together than lanes: read a cache line of one lane before turning to the next, because lanes a
  /// power of two apart share cache sets.
  void copy_by_lane() const {
    constexpr std::int64_t line = 16;
    for (std::int64_t begin = 0; begin < source_.steps; begin += line) {
      const std::int64_t end = std::min(source_.steps, begin + line);
      for (std::int64_t lane = 0; lane < lanes_; ++lane) {
        for (std::int64_t step = begin; step < end; ++step) copy(lane, step);
      }
    }
  }

  void fill_up(std::int64_t steps) const {
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t given = step < source_.steps ? lanes_ : 0;
      std::fill(to_ + step * width_ + given, to_ + (step + 1) * width_, Code::zero);
    }
  }

 private:
  void copy(std::int64_t lane, std::int64_t step) const {
    to_[step * width_ + lane] = Code::encode(from_[lane * source_.lane_stride + step * source_.step_stride]);
  }

  const typename Code::Element* from_;
  const Lanes& source_;
  std::int64_t lanes_;
  std::int64_t width_;
  typename Code::Packed* to_;
};

template <Type type, Side side>
void pack_as(const Lanes& source, int width, void* panels) {
  using Code = Encoding<type, side>;
  const bool by_step = std::abs(source.lane_stride) <= std::abs(source.step_stride);
  const std::int64_t steps = ceil_div(source.steps, group_of(type)) * group_of(type);
  auto* to = static_cast<typename Code::Packed*>(panels);
  for (std::int64_t lane = 0; lane < source.lanes; lane += width, to += width * steps) {
    const Panel<Code> panel(source, lane, width, to);
    if (by_step) {
      panel.copy_by_step();
    } else {
      panel.copy_by_lane();
    }
    if (steps > source.steps || lane + width > source.lanes) panel.fill_up(steps);
  }
}

template <Side side>
void pack_side(const Lanes& source, int width, void* panels) {
  switch (source.type) {
    case Type::f32:
      return pack_as<Type::f32, side>(source, width, panels);
    case Type::bf16:
      return pack_as<Type::bf16, side>(source, width, panels);
    case Type::f16:
      return pack_as<Type::f16, side>(source, width, panels);
    case Type::tf32:
      return pack_as<Type::tf32, side>(source, width, panels);
  }
}

}  // namespace

void pack(const Lanes& source, Side side, int width, void* panels) {
  if (side == Side::a) {
    pack_side<Side::a>(source, width, panels);
  } else {
    pack_side<Side::b>(source, width, panels);
  }
}

}  // namespace mgemm
