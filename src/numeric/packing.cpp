#include "numeric/packing.hpp"

#include <algorithm>
#include <cstdlib>

#include "numeric/contract.hpp"
#include "numeric/element.hpp"
#include "numeric/fused_sum.hpp"

namespace mgemm {
namespace {

constexpr std::uint32_t make_word(int exponent, int significand) {
  return static_cast<std::uint32_t>(exponent) << 16U | (static_cast<std::uint32_t>(significand) & 0xffffU);
}

/// What a type's elements become in the panels of one side: floats as they are, all others words of fused sums.
template <Type type, Side side>
struct Encoding {
  using Element = std::conditional_t<is_half(type), std::uint16_t, std::uint32_t>;
  using Packed = std::uint32_t;
  static constexpr int exponent_bits = type == Type::f16 ? 5 : 8;
  static constexpr int fraction_bits = type == Type::bf16 ? 7 : 10;
  static constexpr int largest_field = (1 << exponent_bits) - 1;
  static constexpr int bias = largest_field / 2;
  static constexpr int scale = (side == Side::a ? a_fraction : b_fraction) - fraction_bits;
  static constexpr Packed zero = make_word(zero_exponent, 0);

  static Packed encode(Element element) {
    std::uint32_t bits = element;
    if constexpr (type == Type::tf32) bits = round_to_tf32(bits) >> 13U;
    const auto field = static_cast<int>(bits >> fraction_bits & largest_field);
    auto significand = static_cast<int>(bits & ((1U << fraction_bits) - 1));
    const bool negative = (bits >> (exponent_bits + fraction_bits) & 1U) != 0;
    if (field == largest_field) return make_word(special_exponent, significand != 0 ? 0 : negative ? -1 : 1);
    if (field != 0) significand += 1 << fraction_bits;
    if (significand == 0) return zero;
    significand <<= scale;
    return make_word(std::max(field, 1) - bias, negative ? -significand : significand);
  }
};

template <Side side>
struct Encoding<Type::f32, side> {
  using Element = float;
  using Packed = float;
  static constexpr float zero = 0;
  static float encode(float element) { return element; }
};

/// A panel of it: at most `width` lanes.
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
