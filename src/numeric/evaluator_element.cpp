// The contract once more, as one plain loop an element. Shares no arithmetic with evaluate(), so that each can check
// the other.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/thread_pool.hpp"
#include "numeric/element.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/float_environment.hpp"
#include "numeric/fused_sum.hpp"

namespace mgemm {
namespace {

/// An element of a or b as it enters a product.
float element_of(Type type, const void* array, std::int64_t index) {
  if (is_half(type)) return from_half(type, static_cast<const std::uint16_t*>(array)[index]);
  if (type == Type::tf32) {
    return std::bit_cast<float>(round_to_tf32(static_cast<const std::uint32_t*>(array)[index]));
  }
  return static_cast<const float*>(array)[index];
}
float a_of(const EvaluatorInput& in, std::int64_t row, std::int64_t step) {
  return element_of(in.in_type, in.a, row * in.a_strides.row + step * in.a_strides.column);
}
float b_of(const EvaluatorInput& in, std::int64_t step, std::int64_t column) {
  return element_of(in.in_type, in.b, step * in.b_strides.row + column * in.b_strides.column);
}

/// Of a number that is not 0, as its format has it: subnormals share the smallest.
int exponent_of(float value, int smallest) {
  const auto field = static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 23U & 0xffU);
  return std::max(field - 127, smallest);
}

/// The f32 next to `value` on the side of zero; from 2^128 on infinity.
float toward_zero(double value) {
  if (std::fabs(value) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  const auto nearest = static_cast<float>(value);
  return std::fabs(double{nearest}) > std::fabs(value) ? std::nextafter(nearest, 0.0F) : nearest;
}

/// Steps [begin, begin + L) of a chain, those from `end` on being zeros. In doubles, which hold every number met here.
float fused_step(const EvaluatorInput& in, std::int64_t row, std::int64_t column, std::int64_t begin, std::int64_t end,
                 float sum) {
  const FusedSum parameters = fused_sums[static_cast<int>(in.arithmetic)];
  const int smallest = in.in_type == Type::f16 ? -14 : -126;
  std::array<double, 16> products{};
  double plain = sum;  // only good to tell infinities and NaNs
  int largest = sum == 0 ? std::numeric_limits<int>::min() : exponent_of(sum, -126);
  for (std::int64_t i = 0; i < parameters.terms && begin + i < end; ++i) {
    const float a = a_of(in, row, begin + i);
    const float b = b_of(in, begin + i, column);
    const double product = double{a} * double{b};
    products.at(static_cast<size_t>(i)) = product;
    plain += product;
    if (product != 0) largest = std::max(largest, exponent_of(a, smallest) + exponent_of(b, smallest));
  }
  if (!std::isfinite(plain)) {
    return std::isnan(plain) ? std::bit_cast<float>(canonical_nan_bits) : static_cast<float>(plain);
  }
  if (largest == std::numeric_limits<int>::min()) return 0;
  largest = std::max(largest, least_alignment);
  const double unit = std::ldexp(1.0, largest - parameters.fraction);
  const double scale = std::ldexp(1.0, parameters.fraction - largest);
  double total = std::trunc(double{sum} * scale);
  for (const double product : products) total += std::trunc(product * scale);
  const float result = toward_zero(total * unit);
  return result == 0 ? 0.0F : result;  // never -0
}

float chain(const EvaluatorInput& in, std::int64_t row, std::int64_t column, std::int64_t begin, std::int64_t end) {
  float sum = 0;
  if (in.arithmetic == Arithmetic::fma32) {
    for (std::int64_t r = begin; r < end; ++r) sum = std::fma(a_of(in, row, r), b_of(in, r, column), sum);
    return sum;
  }
  const std::int64_t group = group_of(in.in_type);
  const std::int64_t padded = begin + ceil_div(end - begin, group) * group;
  const int terms = fused_sums[static_cast<int>(in.arithmetic)].terms;
  for (std::int64_t r = begin; r < padded; r += terms) sum = fused_step(in, row, column, r, end, sum);
  return sum;
}

float dot(const EvaluatorInput& in, std::int64_t row, std::int64_t column) {
  float sum_f32 = 0;
  double sum_f64 = 0;
  for (std::int64_t slice = 0; slice < in.slices.count; ++slice) {
    const std::int64_t begin = slice * in.slices.length;
    const std::int64_t end = slice + 1 == in.slices.count ? in.reduction : begin + in.slices.length;
    const float part = chain(in, row, column, begin, end);
    // The first is taken as it is: +0 + -0 would be +0.
    sum_f32 = slice == 0 ? part : sum_f32 + part;
    sum_f64 = slice == 0 ? double{part} : sum_f64 + double{part};
  }
  return in.fold == Fold::f64 ? static_cast<float>(sum_f64) : sum_f32;
}

// Not inlined, and the result in memory: the arithmetic must stay where the floating-point environment is set.
[[gnu::noinline]] void element(const EvaluatorInput& in, std::int64_t row, std::int64_t column, float& result) {
  float value = dot(in, row, column);
  if (in.alpha != 1) value = in.alpha * value;
  if (in.bias != nullptr) value = value + in.bias[column];
  if (in.beta != 0) {
    const std::int64_t index = row * in.out_leading + column;
    value = std::fma(in.beta, element_of(in.out_type, in.out, index), value);
  }
  if (is_half(in.out_type)) value = from_half(in.out_type, to_half(in.out_type, value));
  result = std::isnan(value) ? std::bit_cast<float>(canonical_nan_bits) : value;
}

}  // namespace

float evaluate_element(const EvaluatorInput& input, std::int64_t row, std::int64_t column) {
  float result = 0;
  const FloatEnvironment environment;
  element(input, row, column, result);
  return result;
}

void evaluate_elements(const EvaluatorInput& input, std::span<const std::int64_t> rows,
                       std::span<const std::int64_t> columns, std::span<float> values, int threads) {
  constexpr std::int64_t steps_per_task = 1 << 16;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t per_task = std::max<std::int64_t>(1, steps_per_task / std::max<std::int64_t>(1, input.reduction));
  run_parallel(ceil_div(count, per_task), threads, [&](std::int64_t task, int) {
    const FloatEnvironment environment;
    const auto end = static_cast<size_t>(std::min(count, (task + 1) * per_task));
    for (auto i = static_cast<size_t>(task * per_task); i < end; ++i) element(input, rows[i], columns[i], values[i]);
  });
}

}  // namespace mgemm
