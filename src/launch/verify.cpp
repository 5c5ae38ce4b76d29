#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "launch/launch.hpp"
#include "memory/scratch.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm {
namespace {

constexpr std::int64_t word = 4;

/// `count` of 0 .. extent - 1, ascending, with the first and the last. (Knuth, The Art of Computer Programming, volume
/// 2, 3.4.2, algorithm S where many are wanted; few are drawn until they differ.)
std::vector<std::int64_t> draw(std::mt19937_64& random, std::int64_t extent, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  if (count >= extent) {
    chosen.resize(static_cast<size_t>(extent));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  const auto below = [&](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
  };
  if (count > extent / 8) {
    for (std::int64_t i = 0; i < extent; ++i) {
      const std::int64_t wanted = count - static_cast<std::int64_t>(chosen.size());
      const bool last_is_owed = i < extent - 1 && wanted == 1 && count > 1;
      const bool end = i == 0 || i == extent - 1;
      if (end || (!last_is_owed && below(extent - i) < wanted)) chosen.push_back(i);
      if (static_cast<std::int64_t>(chosen.size()) == count) break;
    }
    return chosen;
  }
  chosen.push_back(0);
  if (count > 1) chosen.push_back(extent - 1);
  while (static_cast<std::int64_t>(chosen.size()) < count) {
    while (static_cast<std::int64_t>(chosen.size()) < count) chosen.push_back(below(extent));
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }
  return chosen;
}

/// The rows and columns whose crossings are compared: at least min(samples, all) of them.
struct Sample {
  std::vector<std::int64_t> rows, columns;

  Sample(const Problem& problem, std::int64_t samples, std::uint64_t seed) {
    const std::int64_t height = output_rows(problem);
    const std::int64_t width = output_columns(problem);
    std::mt19937_64 random(seed);
    const auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(samples))));
    const std::int64_t row_count = std::min(height, std::max<std::int64_t>(side, 2));
    const std::int64_t column_count = std::min(width, std::max<std::int64_t>(ceil_div(samples, row_count), 2));
    rows = draw(random, height, std::min(height, std::max(row_count, ceil_div(samples, column_count))));
    columns = draw(random, width, column_count);
  }
};

/// Reads parts of device matrices.
class Gatherer {
 public:
  Gatherer(Device& device, Stream stream) : device_(device), stream_(stream) {}

  /// For each of `lines` the `length` elements along the other dimension, packed.
  std::vector<float> lines(std::uint64_t address, const std::vector<std::int64_t>& lines, std::int64_t line_stride,
                           std::int64_t length, std::int64_t element_stride) {
    std::vector<float> values(lines.size() * static_cast<size_t>(length));
    if (length == 0) return values;
    float* next = values.data();
    for (const std::int64_t line : lines) {
      device_.download_words(next, address + static_cast<std::uint64_t>(line * line_stride * word),
                             element_stride * word, length, stream_);
      next += length;
    }
    return values;
  }

  /// The elements at `columns` of a row of `width` elements at `address`.
  void pick(std::uint64_t address, std::int64_t width, const std::vector<std::int64_t>& columns, float* target) {
    constexpr std::int64_t whole_row_up_to = 1 << 20;
    if (width > whole_row_up_to) {
      for (const std::int64_t column : columns) {
        device_.download(target++, address + static_cast<std::uint64_t>(column * word), word, stream_);
      }
      return;
    }
    std::vector<float> row(static_cast<size_t>(width));
    device_.download(row.data(), address, width * word, stream_);
    for (const std::int64_t column : columns) *target++ = row.at(static_cast<size_t>(column));
  }

  std::vector<float> crossings(std::uint64_t address, const Layout& layout, const Sample& sample) {
    std::vector<float> values(sample.rows.size() * sample.columns.size());
    float* next = values.data();
    for (const std::int64_t row : sample.rows) {
      pick(address + static_cast<std::uint64_t>(row * layout.leading * word), layout.columns, sample.columns, next);
      next += sample.columns.size();
    }
    return values;
  }

 private:
  Device& device_;
  Stream stream_;
};

/// What the contract gives at the crossings of the sample, from the operands on the device.
std::vector<float> expected_at(Gatherer& gather, const Launch& launch, const Sample& sample, int threads) {
  const Plan& plan = *launch.plan;
  const Problem& p = plan.problem;
  const std::int64_t r = reduction(p);
  const Strides a_strides = strides_a(p);
  const Strides b_strides = strides_b(p);
  const std::vector<float> a = gather.lines(launch.operands.a, sample.rows, a_strides.row, r, a_strides.column);
  const std::vector<float> b = gather.lines(launch.operands.b, sample.columns, b_strides.column, r, b_strides.row);
  std::vector<float> bias(p.bias ? sample.columns.size() : 0);
  if (p.bias) gather.pick(launch.operands.bias, output_columns(p), sample.columns, bias.data());
  std::vector<float> out(sample.rows.size() * sample.columns.size());
  if (p.beta != 0) out = gather.crossings(launch.operands.out, layout_out(p), sample);

  EvaluatorInput input;
  input.rows = static_cast<std::int64_t>(sample.rows.size());
  input.columns = static_cast<std::int64_t>(sample.columns.size());
  input.reduction = r;
  input.a = a.data();
  input.a_strides = {r, 1};
  input.b = b.data();
  input.b_strides = {1, r};
  input.bias = p.bias ? bias.data() : nullptr;
  input.out = out.data();
  input.out_leading = input.columns;
  input.alpha = p.alpha;
  input.beta = p.beta;
  input.slices = plan.contract.slices;
  input.fold = plan.contract.fold;
  // The reference device runs the vectorised loops; here they must not check themselves.
  evaluate(input, Isa::generic, threads);
  return out;
}

/// Runs the launch on a copy of its output and reads the sample back.
std::vector<float> run_shadow(Context& context, Gatherer& gather, const Launch& launch, const Sample& sample) {
  const Plan& plan = *launch.plan;
  const Layout layout = layout_out(plan.problem);
  const std::int64_t bytes = span_bytes(layout);
  // The copy is aligned as the output is, so that the kernel takes the same path.
  constexpr std::uint64_t alignment = 256;
  Scratch scratch(*context.device, bytes + static_cast<std::int64_t>(alignment));
  const std::uint64_t shadow = scratch.address() + launch.operands.out % alignment;
  if (plan.problem.beta != 0) {
    context.device->copy(shadow, launch.operands.out, bytes, context.stream);
  } else {
    constexpr std::uint32_t poison = 0xffbadbadU;  // a NaN that no product gives: an element not written is found
    context.device->fill_words(shadow, poison, bytes / word, context.stream);
  }
  mgemm_operands operands = launch.operands;
  operands.out = shadow;
  context.device->enqueue(bind_work(plan, operands), context.stream);
  context.device->synchronize(context.stream);
  return gather.crossings(shadow, layout, sample);
}

}  // namespace

mgemm_verify_report verify(Context& context, const Launch& launch, std::int64_t samples, std::uint64_t seed) {
  if (samples < 1) invalid("samples is {}; it must be 1 or more", samples);
  mgemm_verify_report report{};
  report.struct_size = sizeof report;
  report.first_row = -1;
  report.first_column = -1;
  context.device->synchronize(context.stream);
  const Problem& problem = launch.plan->problem;
  if (output_rows(problem) == 0 || output_columns(problem) == 0) return report;

  const Sample sample(problem, samples, seed);
  Gatherer gather(*context.device, context.stream);
  const std::vector<float> expected = expected_at(gather, launch, sample, context.threads);
  const std::vector<float> got = run_shadow(context, gather, launch, sample);
  report.checked = static_cast<std::int64_t>(got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto got_bits = std::bit_cast<std::uint32_t>(got[i]);
    const auto expected_bits = std::bit_cast<std::uint32_t>(expected[i]);
    if (got_bits == expected_bits) continue;
    if (report.mismatches++ == 0) {
      report.first_row = sample.rows.at(i / sample.columns.size());
      report.first_column = sample.columns.at(i % sample.columns.size());
      report.got = got_bits;
      report.expected = expected_bits;
    }
  }
  return report;
}

}  // namespace mgemm
