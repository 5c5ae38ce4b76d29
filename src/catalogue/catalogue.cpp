#include "catalogue/catalogue.hpp"

namespace mgemm {
namespace {

/// The shape of a tile family, before it is crossed with operations, slices and alignments.
struct Shape {
  std::string_view family;
  std::int32_t rows, columns, steps, stages, row_lanes, column_lanes, vector, min_blocks;
  double rate_full, rate_one;
  bool nn, tn, nt, sliced;  // which operations it serves, and whether it also exists with slices
};

// Chosen by measurement on an H200, see docs/performance.md. `thin` shapes are for few output rows: they keep many
// column tiles in flight. Sliced kernels need a second accumulator and stay small.
constexpr std::array<Shape, 6> shapes{{
    {"wide", 64, 128, 16, 3, 8, 16, 4, 3, 88, 64, true, true, false, false},
    {"tall", 128, 64, 16, 3, 16, 8, 2, 2, 76, 55, false, false, true, false},
    {"square", 64, 64, 16, 3, 16, 16, 4, 2, 66, 49, true, true, true, true},
    {"small", 32, 32, 16, 4, 8, 8, 4, 3, 57, 21, true, true, true, true},
    {"thin16", 16, 32, 32, 4, 8, 8, 4, 2, 45, 18, true, false, true, true},
    {"thin8", 8, 64, 32, 4, 4, 16, 4, 2, 45, 18, true, false, true, true},
}};

constexpr std::array<std::int32_t, 2> alignments{16, 4};

constexpr bool serves(const Shape& shape, Op op) {
  return op == Op::nn ? shape.nn : op == Op::tn ? shape.tn : shape.nt;
}

constexpr SliceMode sliced_mode(Op op) { return op == Op::tn ? SliceMode::f64 : SliceMode::f32; }

class NameBuilder {
 public:
  constexpr NameBuilder& operator<<(std::string_view text) {
    for (const char c : text) name_.text.at(length_++) = c;
    return *this;
  }
  constexpr NameBuilder& operator<<(std::int32_t number) {
    if (number >= 10) *this << number / 10;
    const char digit = static_cast<char>('0' + number % 10);
    return *this << std::string_view(&digit, 1);
  }
  constexpr Name name() const { return name_; }

 private:
  Name name_;
  size_t length_ = 0;
};

constexpr KernelRow make_row(const Shape& shape, Op op, SliceMode mode, std::int32_t alignment) {
  KernelRow row;
  const std::string_view kind = mode == SliceMode::single ? "single" : "sliced";
  // A module each: NVRTC takes 20 ms for a module and up to half a second for a kernel, and the first product needs
  // one.
  row.module = (NameBuilder() << name_of(Type::f32) << "_" << name_of(op) << "_" << kind << "_a" << alignment << "_"
                              << shape.family)
                   .name();
  row.symbol = (NameBuilder() << "mgemm_" << row.module.view()).name();
  row.op = op;
  row.in_type = Type::f32;
  row.out_type = Type::f32;
  row.tile_rows = shape.rows;
  row.tile_columns = shape.columns;
  row.tile_steps = shape.steps;
  row.stages = shape.stages;
  row.row_lanes = shape.row_lanes;
  row.column_lanes = shape.column_lanes;
  row.vector = shape.vector;
  row.min_blocks = shape.min_blocks;
  row.slices = mode;
  row.rate_full = shape.rate_full;
  row.rate_one = shape.rate_one;
  row.alignment = alignment;
  return row;
}

/// Calls `visit` for every combination that exists, in the order of the catalogue.
template <typename Visit>
constexpr void for_each_row(Visit visit) {
  for (const auto& [op, name] : op_names) {
    for (const bool sliced : {false, true}) {
      for (const std::int32_t alignment : alignments) {
        for (const Shape& shape : shapes) {
          if (!serves(shape, op) || (sliced && !shape.sliced)) continue;
          visit(make_row(shape, op, sliced ? sliced_mode(op) : SliceMode::single, alignment));
        }
      }
    }
  }
}

constexpr size_t row_count() {
  size_t count = 0;
  for_each_row([&](const KernelRow&) { ++count; });
  return count;
}

constexpr auto make_rows() {
  std::array<KernelRow, row_count()> rows;
  size_t next = 0;
  for_each_row([&](const KernelRow& row) { rows.at(next++) = row; });
  return rows;
}

constexpr auto rows = make_rows();

}  // namespace

std::int32_t KernelRow::shared_bytes() const {
  // As F32Operand lays it out: rows along the reduction are padded by four words.
  const auto floats = [&](std::int32_t extent, bool along_reduction) {
    return along_reduction ? extent * (tile_steps + 4) : extent * tile_steps;
  };
  return stages * 4 * (floats(tile_rows, op != Op::tn) + floats(tile_columns, op == Op::nt));
}

std::span<const KernelRow> catalogue() { return rows; }

const KernelRow* find_kernel(std::string_view symbol) {
  for (const KernelRow& row : rows) {
    if (row.symbol.view() == symbol) return &row;
  }
  return nullptr;
}

bool covers(const KernelRow& row, const Problem& problem, const Contract& contract, std::int32_t alignment) {
  const SliceMode needed = contract.slices.count == 1   ? SliceMode::single
                           : contract.fold == Fold::f64 ? SliceMode::f64
                                                        : SliceMode::f32;
  return row.op == problem.op && row.in_type == problem.in_type && row.out_type == problem.out_type &&
         row.slices == needed && alignment % row.alignment == 0;
}

}  // namespace mgemm
