// The contract once more, as one plain loop an element. Shares no code with evaluate(), so that each can check the
// other.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/thread_pool.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/float_environment.hpp"

namespace mgemm {
namespace {

float chain(const EvaluatorInput& in, std::int64_t row, std::int64_t column, std::int64_t begin, std::int64_t end) {
  float sum = 0;
  for (std::int64_t r = begin; r < end; ++r) {
    const float a = in.a[row * in.a_strides.row + r * in.a_strides.column];
    const float b = in.b[r * in.b_strides.row + column * in.b_strides.column];
    sum = std::fma(a, b, sum);
  }
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
  if (in.beta != 0) value = std::fma(in.beta, in.out[row * in.out_leading + column], value);
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
