#include "array.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mgemm::cli {
namespace {

/// A half type: its sign bit lies above exponent and fraction.
struct Half {
  int fraction_bits, smallest_exponent, largest_exponent;
};
constexpr Half bf16{7, -126, 127};
constexpr Half f16{10, -14, 15};

std::uint32_t half_bits(const Half& half, float value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const auto infinity = static_cast<std::uint32_t>(half.largest_exponent - half.smallest_exponent + 2)
                        << half.fraction_bits;
  if (std::isnan(value)) return 0x7fffU;
  if (std::isinf(value)) return sign | infinity;
  // In units of the last place every representable number is an integer, and the count of them is the encoding's.
  const int exponent = value == 0 ? half.smallest_exponent : std::max(std::ilogb(value), half.smallest_exponent);
  const double units = std::nearbyint(std::ldexp(std::fabs(double{value}), half.fraction_bits - exponent));
  const auto steps = static_cast<std::uint32_t>(exponent - half.smallest_exponent) << half.fraction_bits;
  return sign | std::min(steps + static_cast<std::uint32_t>(units), infinity);
}

float half_value(const Half& half, std::uint32_t bits) {
  const auto magnitude = static_cast<int>(bits & 0x7fffU);
  const int field = magnitude >> half.fraction_bits;
  const int fraction = magnitude - (field << half.fraction_bits);
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (half.smallest_exponent + field - 1 > half.largest_exponent) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  }
  const int hidden = field != 0 ? 1 << half.fraction_bits : 0;
  return sign * std::ldexp(static_cast<float>(hidden + fraction),
                           half.smallest_exponent + std::max(field, 1) - 1 - half.fraction_bits);
}

}  // namespace

std::uint32_t bits_in(std::int32_t type, float value) {
  if (type == MGEMM_TYPE_BF16) return half_bits(bf16, value);
  if (type == MGEMM_TYPE_F16) return half_bits(f16, value);
  return std::bit_cast<std::uint32_t>(value);
}

float value_in(std::int32_t type, std::uint32_t bits) {
  if (type == MGEMM_TYPE_BF16) return half_value(bf16, bits);
  if (type == MGEMM_TYPE_F16) return half_value(f16, bits);
  return std::bit_cast<float>(bits);
}

Array::Array(std::int32_t type, std::int64_t count)
    : type_(type), bytes_(static_cast<std::size_t>(count * bytes_of(type))) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i % 2 == 0 ? 0xba : 0xff);
}

Array::Array(std::span<const float> values) : bytes_(values.size_bytes()) {
  std::ranges::copy(std::as_bytes(values), bytes_.begin());
}

std::uint32_t Array::bits(std::size_t index) const {
  const auto size = static_cast<std::size_t>(bytes_of(type_));
  std::uint32_t value = 0;
  std::memcpy(&value, bytes_.data() + index * size, size);
  return value;
}

void Array::set(std::size_t index, float value) {
  const auto size = static_cast<std::size_t>(bytes_of(type_));
  const std::uint32_t bits = bits_in(type_, value);
  std::memcpy(bytes_.data() + index * size, &bits, size);
}

std::span<const float> Array::floats() const {
  return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
}

}  // namespace mgemm::cli
