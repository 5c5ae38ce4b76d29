#include "module/probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <fmt/core.h>

#include "numeric/element.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm {
namespace {

constexpr std::int64_t guard_bytes = 256;
constexpr std::int64_t shortest_slice = 64;  // that a contract knows

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::string_view name) {
    for (const char letter : name) state_ = (state_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(next() >> 32U); }
  /// Of either sign, with all bits of the significand, between 2^-4 and 4.
  float number() {
    const std::uint32_t bits = word();
    const auto exponent = static_cast<std::uint32_t>(127 - 4 + next() % 6);
    return std::bit_cast<float>((bits & 0x807fffffU) | (exponent << 23U));
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

struct Edge {
  std::int64_t rows, columns;
};

/// How far a type's numbers reach, as powers of two.
struct Range {
  int subnormal;  // times what Random::number() gives, a subnormal
  int large;      // times that, sums or results that overflow
  int smallest;   // the smallest subnormal
};

constexpr Range range_of(Type type) {
  switch (type) {
    case Type::f16:
      return {-17, 13, -24};
    case Type::bf16:
      return {-130, 125, -133};
    case Type::f32:
    case Type::tf32:
      break;
  }
  return {-140, 126, -149};
}

/// Row i of an exceptional probe's a, at reduction step r.
float exceptional(float usual, const Range& range, std::int64_t i, std::int64_t r, std::int64_t length) {
  const float infinity = std::numeric_limits<float>::infinity();
  switch (i % 8) {
    case 1:
      return r == length / 2 ? infinity : usual;
    case 2:
      return r == 0 ? std::numeric_limits<float>::quiet_NaN() : usual;
    case 3:
      return -0.0F;
    case 4:
      return std::ldexp(usual, range.subnormal);
    case 5:
      return std::ldexp(usual, range.large);
    case 6:
      return r == 0 ? -infinity : r == length - 1 ? infinity : usual;
    case 7:  // f32: sums of -0, which a step beyond the end would turn into +0
      return r == length - 1 ? std::ldexp(1.0F, range.smallest) : 0.0F;
    default:
      return usual;
  }
}

/// Reserves room for an operand in the block and gives its first byte.
std::int64_t place(std::int64_t& end, const Layout& layout, std::int64_t shift) {
  const std::int64_t first = ceil_div(end, guard_bytes) * guard_bytes + shift * size_of(layout.type);
  end = first + span_bytes(layout) + guard_bytes;
  return first;
}

template <typename Value>
void fill(ProbeBlock& block, std::int64_t first, const Layout& layout, Value value) {
  with_elements(layout.type, [&](auto elements) {
    for (std::int64_t i = 0; i < layout.rows; ++i) {
      for (std::int64_t j = 0; j < layout.columns; ++j) {
        elements.store(block.bytes.data() + first, i * layout.leading + j, value(i, j));
      }
    }
  });
}

/// An element of the output, as bits and value.
std::string text_of(const ProbeBlock& block, Type type, std::int64_t index) {
  const std::byte* const out = block.bytes.data() + block.out;
  const float value = with_elements(type, [&](auto elements) { return elements.load(out, index); });
  std::uint32_t bits = 0;
  std::memcpy(&bits, out + index * size_of(type), static_cast<size_t>(size_of(type)));
  return fmt::format("{:#0{}x} ({})", bits, 2 + 2 * size_of(type), value);
}

/// A reduction, and the length of its slices where there are some.
struct Depth {
  std::int64_t steps, slice;
};

Probe make_probe(const KernelRow& row, const TensorSet& set, const Edge& edge, const Depth& reduction, int number) {
  // Whether alpha is 1, whether the old output is read and whether there is a bias: each with each, for kernels may
  // have a way of their own through any of them. A negative alpha, exceptional values and no bias are what makes a -0.
  struct Epilogue {
    float alpha, beta;
    bool bias, exceptional;
  };
  constexpr std::array<Epilogue, 8> epilogues{{{-1.25F, 0.0F, false, true},
                                               {1.0F, 0.0F, true, false},
                                               {1.0F, 0.0F, false, true},
                                               {0.75F, -0.5F, false, true},
                                               {2.0F, 0.0F, true, false},
                                               {1.0F, 1.0F, false, true},
                                               {1.0F, -0.5F, true, true},
                                               {0.75F, -0.5F, true, false}}};
  const auto& [depth, slice] = reduction;
  const auto& [alpha, beta, bias, exceptional] = epilogues.at(static_cast<size_t>(number));
  // Now and then one operand is aligned better than the kernel asks for, which may then copy that one in another way.
  const std::int64_t unit = row.alignment / size_of(row.in_type);
  const std::int64_t wide_unit = 16 / size_of(row.in_type);
  const std::int64_t unit_a = number % 4 == 2 ? wide_unit : unit;
  const std::int64_t unit_b = number % 4 == 1 ? wide_unit : unit;
  Problem p;
  p.op = row.op;
  p.in_type = row.in_type;
  p.out_type = row.out_type;
  p.m = row.op == Op::tn ? depth : edge.rows;
  p.k = row.op == Op::nn ? depth : row.op == Op::tn ? edge.rows : edge.columns;
  p.n = row.op == Op::nt ? depth : edge.columns;
  p.bias = row.op == Op::nn && bias;
  p.alpha = alpha;
  p.beta = beta;
  const auto leading = [&](std::int64_t length, std::int64_t of) { return (ceil_div(length, of) + number % 3) * of; };
  p.lda = leading(layout_a(p).columns, unit_a);
  p.ldb = leading(layout_b(p).columns, unit_b);
  // Most outputs are such as the widest writes want.
  const bool wide = number != 3 && number != 4;
  const std::int64_t out_unit = 16 / size_of(row.out_type);
  p.ldout = wide ? (ceil_div(layout_out(p).columns, out_unit) + number % 2) * out_unit : layout_out(p).columns + 3;
  Contract contract = contract_of(p, set);
  contract.slices = row.slices == SliceMode::single ? Slices{1, depth} : Slices{ceil_div(depth, slice), slice};
  contract.fold = row.slices == SliceMode::f64 ? Fold::f64 : Fold::f32;
  return {.problem = p,
          .contract = contract,
          .a_shift = unit_a,
          .b_shift = unit_b,
          .out_shift = wide ? 0 : 1,
          .exceptional = exceptional};
}

}  // namespace

std::vector<Probe> probes_for(const KernelRow& row, const TensorSet& set) {
  const std::int64_t rows = row.tile_rows;
  const std::int64_t columns = row.tile_columns;
  const std::int64_t steps = row.tile_steps;
  const std::int64_t all = steps * row.stages;
  const std::array edges{Edge{rows + 1, columns - 1}, Edge{1, columns + 1},        Edge{rows, columns},
                         Edge{rows + 1, columns + 1}, Edge{rows + 1, 1},           Edge{2 * rows - 1, columns},
                         Edge{rows - 1, columns + 8}, Edge{rows + 1, columns + 24}};
  // With slices there are always two at least, and the last is a short one but for a whole multiple.
  const bool sliced = row.slices != SliceMode::single;
  constexpr std::int64_t one = shortest_slice;
  constexpr std::int64_t most_slices = 8;  // of a contract on tensor cores, and blocks of a cluster
  constexpr std::int64_t two = 2 * one;
  constexpr std::int64_t three = 3 * one;
  const std::array depths =
      sliced ? std::array{Depth{one + 1, one},
                          Depth{2 * two - 1, two},
                          Depth{2 * one, one},
                          Depth{2 * three + 15, three},
                          Depth{3 * one + 16, one},
                          Depth{4 * two + 33, two},
                          Depth{std::clamp(all + one, 5 * one, most_slices * one) - 16, one},
                          Depth{std::max(2 * all, 9 * one) + 1, three}}
             : std::array{Depth{1, 0},        Depth{steps - 1, 0}, Depth{steps, 0},   Depth{all, 0},
                          Depth{all + 16, 0}, Depth{all - 16, 0},  Depth{all + 1, 0}, Depth{2 * all + 15, 0}};
  std::vector<Probe> probes;
  int number = 0;
  for (const Depth& depth : depths) {
    probes.push_back(make_probe(row, set, edges.at(static_cast<size_t>(number) % edges.size()), depth, number));
    ++number;
  }
  return probes;
}

mgemm_operands ProbeBlock::operands(const Probe& probe, std::uint64_t base) const {
  const auto address = [&](std::int64_t first) { return base + static_cast<std::uint64_t>(first); };
  mgemm_operands result{};
  result.struct_size = sizeof result;
  result.a = address(a);
  result.b = address(b);
  result.bias = probe.problem.bias ? address(bias) : 0;
  result.out = address(out);
  return result;
}

ProbeBlock make_block(const Probe& probe, std::string_view name) {
  const Problem& p = probe.problem;
  const Layout layout = layout_a(p);
  ProbeBlock block;
  std::int64_t end = guard_bytes;
  block.a = place(end, layout, probe.a_shift);
  block.b = place(end, layout_b(p), probe.b_shift);
  block.bias = place(end, layout_bias(p), 1);
  block.out = place(end, layout_out(p), probe.out_shift);
  Random random(name);
  std::vector<std::uint64_t> words(static_cast<size_t>(ceil_div<std::int64_t>(end, sizeof(std::uint64_t))));
  std::ranges::generate(words, [&] { return random.next(); });
  const auto bytes = std::as_bytes(std::span(words));
  block.bytes.assign(bytes.begin(), bytes.end());

  const std::int64_t length = reduction(p);
  const Range range = range_of(p.in_type);
  fill(block, block.a, layout, [&](std::int64_t i, std::int64_t j) {
    const bool transposed = p.op == Op::tn;
    const float usual = random.number();
    return probe.exceptional ? exceptional(usual, range, transposed ? j : i, transposed ? i : j, length) : usual;
  });
  fill(block, block.b, layout_b(p), [&](std::int64_t, std::int64_t) { return random.number(); });
  fill(block, block.bias, layout_bias(p), [&](std::int64_t, std::int64_t) { return random.number(); });
  if (p.beta != 0) fill(block, block.out, layout_out(p), [&](std::int64_t, std::int64_t) { return random.number(); });
  return block;
}

ProbeBlock expected_block(const Probe& probe, const ProbeBlock& before) {
  ProbeBlock after = before;
  const mgemm_operands operands = after.operands(probe, reinterpret_cast<std::uint64_t>(after.bytes.data()));
  evaluate(evaluator_input(probe.problem, probe.contract, operands), best_isa(), 1);
  return after;
}

std::string first_difference(const Probe& probe, const ProbeBlock& expected, const ProbeBlock& got) {
  if (std::memcmp(expected.bytes.data(), got.bytes.data(), expected.bytes.size()) == 0) return {};
  const auto [at, other] = std::ranges::mismatch(expected.bytes, got.bytes);
  const auto byte = static_cast<std::int64_t>(at - expected.bytes.begin());
  const Layout layout = layout_out(probe.problem);
  const std::int64_t index = (byte - expected.out) / size_of(layout.type);
  const std::int64_t row = index / layout.leading;
  const std::int64_t column = index % layout.leading;
  std::string what = fmt::format("byte {} of the memory round its operands was written", byte);
  if (byte >= expected.out && row < layout.rows && column < layout.columns) {
    what = fmt::format("element ({}, {}) is {}, {} is what {} gives", row, column, text_of(got, layout.type, index),
                       text_of(expected, layout.type, index), to_string(probe.contract));
  }
  return fmt::format("{} in {} slices of {}: {}", to_string(probe.problem), probe.contract.slices.count,
                     probe.contract.slices.length, what);
}

}  // namespace mgemm
