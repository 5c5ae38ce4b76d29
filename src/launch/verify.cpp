#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "launch/launch.hpp"
#include "memory/scratch.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm {
namespace {

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

/// Gathered packed one after the other, as they lie in memory.
struct Gathered {
  Type type;
  std::vector<std::byte> bytes;

  Gathered(Type of, size_t count) : type(of), bytes(count * static_cast<size_t>(size_of(of))) {}
  void* at(size_t index) { return bytes.data() + index * static_cast<size_t>(size_of(type)); }
  std::uint32_t bits(size_t index) const {
    const auto size = static_cast<size_t>(size_of(type));
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + index * size, size);
    return value;
  }
};

/// Reads parts of device matrices.
class Gatherer {
 public:
  Gatherer(Device& device, Stream stream) : device_(device), stream_(stream) {}

  /// For each of `lines` the `length` elements along the other dimension.
  Gathered lines(std::uint64_t address, Type type, const std::vector<std::int64_t>& lines, std::int64_t line_stride,
                 std::int64_t length, std::int64_t element_stride) {
    Gathered elements(type, lines.size() * static_cast<size_t>(length));
    if (length == 0) return elements;
    const std::int64_t size = size_of(type);
    for (size_t i = 0; i < lines.size(); ++i) {
      device_.download_elements(elements.at(i * static_cast<size_t>(length)),
                                address + static_cast<std::uint64_t>(lines[i] * line_stride * size), size,
                                element_stride * size, length, stream_);
    }
    return elements;
  }

  /// The elements at rows and columns of the sample.
  Gathered crossings(std::uint64_t address, const Layout& layout, const std::vector<std::int64_t>& rows,
                     const std::vector<std::int64_t>& columns) {
    Gathered elements(layout.type, rows.size() * columns.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row_bytes = rows[i] * layout.leading * size_of(layout.type);
      pick(address + static_cast<std::uint64_t>(row_bytes), layout, columns, elements, i * columns.size());
    }
    return elements;
  }

 private:
  /// The elements at `columns` of the row at `address`, from element `first` of the target on.
  void pick(std::uint64_t address, const Layout& layout, const std::vector<std::int64_t>& columns, Gathered& target,
            size_t first) {
    constexpr std::int64_t whole_row_up_to = 1 << 20;
    const std::int64_t size = size_of(layout.type);
    if (layout.columns > whole_row_up_to) {
      for (size_t i = 0; i < columns.size(); ++i) {
        device_.download(target.at(first + i), address + static_cast<std::uint64_t>(columns[i] * size), size, stream_);
      }
      return;
    }
    Gathered row(layout.type, static_cast<size_t>(layout.columns));
    device_.download(row.bytes.data(), address, layout.columns * size, stream_);
    for (size_t i = 0; i < columns.size(); ++i) {
      std::memcpy(target.at(first + i), row.at(static_cast<size_t>(columns[i])), static_cast<size_t>(size));
    }
  }

  Device& device_;
  Stream stream_;
};

/// What the contract gives at the crossings of the sample, from the operands on the device.
Gathered expected_at(Gatherer& gather, const Launch& launch, const Sample& sample, int threads) {
  const Plan& plan = *launch.plan;
  const Problem& p = plan.problem;
  const std::int64_t r = reduction(p);
  const Strides a_strides = strides_a(p);
  const Strides b_strides = strides_b(p);
  const Gathered a = gather.lines(launch.operands.a, p.in_type, sample.rows, a_strides.row, r, a_strides.column);
  const Gathered b = gather.lines(launch.operands.b, p.in_type, sample.columns, b_strides.column, r, b_strides.row);
  Gathered bias(Type::f32, 0);
  if (p.bias) bias = gather.crossings(launch.operands.bias, layout_bias(p), {0}, sample.columns);
  Gathered out(p.out_type, sample.rows.size() * sample.columns.size());
  if (p.beta != 0) out = gather.crossings(launch.operands.out, layout_out(p), sample.rows, sample.columns);

  EvaluatorInput input = evaluator_input(p, plan.contract);
  input.rows = static_cast<std::int64_t>(sample.rows.size());
  input.columns = static_cast<std::int64_t>(sample.columns.size());
  input.a = a.bytes.data();
  input.a_strides = {r, 1};
  input.b = b.bytes.data();
  input.b_strides = {1, r};
  input.bias = p.bias ? reinterpret_cast<const float*>(bias.bytes.data()) : nullptr;
  input.out = out.bytes.data();
  input.out_leading = input.columns;
  // The reference device runs the vectorised loops; here they must not check themselves.
  evaluate(input, Isa::generic, threads);
  return out;
}

/// Runs the launch on a copy of its output and reads the sample back.
Gathered run_shadow(Context& context, Gatherer& gather, const Launch& launch, const Sample& sample) {
  const Plan& plan = *launch.plan;
  const Layout layout = layout_out(plan.problem);
  const std::int64_t bytes = span_bytes(layout);
  // The copy is aligned as the output is, so that the kernel takes the same path.
  constexpr std::int64_t alignment = 256;
  Scratch scratch(*context.device, bytes + 2 * alignment);
  const std::uint64_t shadow = scratch.address() + launch.operands.out % alignment;
  if (plan.problem.beta != 0) {
    context.device->copy(shadow, launch.operands.out, bytes, context.stream);
  } else {
    // In every type a NaN that no product gives: an element not written is found.
    constexpr std::uint32_t poison = 0xffbaffbaU;
    constexpr std::int64_t word = 4;
    context.device->fill_words(scratch.address(), poison, ceil_div(bytes, word) + alignment / word, context.stream);
  }
  mgemm_operands operands = launch.operands;
  operands.out = shadow;
  context.device->enqueue(bind_work(plan, operands, context.cuda), context.stream);
  context.device->synchronize(context.stream);
  return gather.crossings(shadow, layout, sample.rows, sample.columns);
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
  const Gathered expected = expected_at(gather, launch, sample, context.threads);
  const Gathered got = run_shadow(context, gather, launch, sample);
  const size_t count = sample.rows.size() * sample.columns.size();
  report.checked = static_cast<std::int64_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const std::uint32_t got_bits = got.bits(i);
    const std::uint32_t expected_bits = expected.bits(i);
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
