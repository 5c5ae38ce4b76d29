#include "catalogue/catalogue.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "catalogue/launch_counts.hpp"

namespace mgemm {
namespace {

/// Which problems a shape is for.
struct Use {
  bool nn, tn, nt;
  bool single = true, sliced = false;
  bool wide_only = false;  // only with the widest copies
};

/// The shape of a tile, before it is crossed with operations, types, slices and alignments.
struct Shape {
  std::string_view name;
  std::int32_t rows, columns, steps, stages, row_parts, column_parts, copy_warps, vector, min_blocks;
  double rate_full, rate_one;
  Use use;
  bool tensor_maps = false;
  std::int32_t slice_groups = 0;
  std::int32_t cluster = 1;
  bool ping_pong = false;
};

// Chosen by measurement on an H200, see docs/performance.md. `thin` shapes are for few output rows: they keep many
// column tiles in flight. Sliced kernels need a second accumulator and stay small.
constexpr Use nn_and_nt{.nn = true, .tn = false, .nt = true};
constexpr Use nn_and_nt_wide{.nn = true, .tn = false, .nt = true, .wide_only = true};
constexpr Use any_op{.nn = true, .tn = true, .nt = true};
constexpr Use any_op_wide{.nn = true, .tn = true, .nt = true, .wide_only = true};
constexpr Use any_op_or_slices{.nn = true, .tn = true, .nt = true, .sliced = true};
constexpr Use nn_and_nt_or_slices{.nn = true, .tn = false, .nt = true, .sliced = true};
constexpr Use slices_of_tn{.nn = false, .tn = true, .nt = false, .single = false, .sliced = true};
constexpr Use slices_of_tn_wide{
    .nn = false, .tn = true, .nt = false, .single = false, .sliced = true, .wide_only = true};

constexpr std::array<Shape, 6> f32_shapes{{
    {"wide", 64, 128, 16, 3, 8, 16, 0, 4, 3, 88, 64, {.nn = true, .tn = true, .nt = false}},
    {"tall", 128, 64, 16, 3, 16, 8, 0, 2, 2, 76, 55, {.nn = false, .tn = false, .nt = true}},
    {"square", 64, 64, 16, 3, 16, 16, 0, 4, 2, 66, 49, any_op_or_slices},
    {"small", 32, 32, 16, 4, 8, 8, 0, 4, 3, 57, 21, any_op_or_slices},
    {"thin16", 16, 32, 32, 4, 8, 8, 0, 4, 2, 45, 18, nn_and_nt_or_slices},
    {"thin8", 8, 64, 32, 4, 4, 16, 0, 4, 2, 45, 18, nn_and_nt_or_slices},
}};
// `thin` ones have 16 rows and as many columns as the name says. The copy engine fills the stages of `tma` ones.
constexpr std::array<Shape, 12> half_shapes{{
    {"large", 128, 128, 64, 3, 2, 2, 4, 0, 1, 750, 750, any_op_wide},
    {"square", 64, 64, 64, 4, 2, 2, 4, 0, 2, 560, 452, any_op},
    {"flat", 64, 32, 128, 4, 4, 1, 4, 0, 1, 300, 300, nn_and_nt_wide},
    {"thin8", 16, 8, 256, 6, 1, 1, 7, 0, 1, 50, 62, nn_and_nt_wide},
    {"thin32", 16, 32, 256, 4, 1, 4, 4, 0, 1, 105, 152, nn_and_nt_wide},
    {"thin64", 16, 64, 64, 4, 1, 4, 4, 0, 1, 190, 126, nn_and_nt},
    {"deep64", 16, 64, 64, 8, 1, 4, 4, 0, 1, 200, 178, nn_and_nt_wide},
    {"thin128", 16, 128, 64, 6, 1, 4, 4, 0, 1, 190, 195, nn_and_nt_wide},
    {"slices", 64, 32, 64, 6, 2, 1, 4, 0, 1, 152, 160, slices_of_tn, false, 2},
    {"slices2", 64, 64, 64, 4, 2, 2, 4, 0, 1, 262, 262, slices_of_tn_wide, false, 2},
    {"tma8", 16, 8, 256, 6, 1, 1, 2, 0, 1, 50, 70, nn_and_nt_wide, true},
    {"tma192", 16, 192, 64, 4, 1, 4, 2, 0, 1, 240, 240, nn_and_nt_wide, true},
}};
// Half the steps, and as many bytes.
constexpr std::array<Shape, 6> tf32_shapes{{
    {"large", 128, 128, 32, 3, 2, 2, 4, 0, 1, 348, 377, any_op_wide},
    {"square", 64, 64, 32, 4, 2, 2, 4, 0, 2, 242, 208, any_op},
    {"thin8", 16, 8, 128, 6, 1, 1, 7, 0, 1, 25, 25, nn_and_nt_wide},
    {"thin32", 16, 32, 128, 3, 1, 4, 4, 0, 1, 60, 60, nn_and_nt_wide},
    {"thin64", 16, 64, 32, 8, 1, 4, 4, 0, 1, 90, 77, nn_and_nt},
    {"slices", 64, 32, 32, 6, 2, 1, 4, 0, 1, 80, 80, slices_of_tn, false, 2},
}};

/// How the groups of four warps of a Hopper shape share tiles, and the thread blocks of a cluster.
struct Sharing {
  std::int32_t groups = 1;
  std::int32_t cluster = 1;
  bool ping_pong = false;
};

/// A shape for Hopper. `clocks` is what a stage of 64 halves takes in the middle of a reduction.
constexpr Shape hopper(std::string_view name, std::int32_t rows, std::int32_t columns, std::int32_t stages,
                       const Sharing& sharing, std::int32_t clocks, const Use& use) {
  constexpr std::int32_t steps = 64;
  const double rate = static_cast<double>(rows * columns * steps) / clocks;
  const auto& [groups, cluster, ping_pong] = sharing;
  return {name, rows, columns, steps, stages, groups, 1, 0, 0, 1, rate, rate, use, true, 0, cluster, ping_pong};
}

constexpr Use tn_only{.nn = false, .tn = true, .nt = false};
constexpr Use any_op_or_tn_slices{.nn = true, .tn = true, .nt = true, .sliced = true};
constexpr Sharing one_group{1};
constexpr Sharing two_groups{2};
constexpr Sharing three_groups{3};
constexpr Sharing two_blocks{2, 2};
constexpr Sharing in_turn{2, 1, true};
// `pp` ones ping-pong.
constexpr std::array hopper_shapes{
    hopper("wg128x256", 128, 256, 4, two_blocks, 1001, any_op),
    hopper("wg256x160", 256, 160, 3, two_groups, 1311, nn_and_nt),
    hopper("wg192x192", 192, 192, 4, three_groups, 1180, slices_of_tn),
    hopper("wg128x192", 128, 192, 4, two_groups, 776, slices_of_tn),
    hopper("wg128x160", 128, 160, 5, two_groups, 695, any_op),
    hopper("wg128x96", 128, 96, 6, two_groups, 470, any_op),
    hopper("wg128x80", 128, 80, 7, two_groups, 460, any_op_or_tn_slices),
    hopper("wg128x64", 128, 64, 8, two_groups, 368, any_op),
    hopper("wg64x192", 64, 192, 6, one_group, 465, any_op_or_tn_slices),
    hopper("wg64x64", 64, 64, 8, one_group, 311, nn_and_nt),
    hopper("wg64x32", 64, 32, 8, one_group, 294, any_op),
    hopper("pp128x128", 128, 128, 6, in_turn, 553, any_op),
    hopper("pp64x192", 64, 192, 6, in_turn, 476, nn_and_nt),
    hopper("pp64x128", 64, 128, 6, in_turn, 400, tn_only),
};

/// The same for words: half the steps in as many bytes and clocks.
constexpr Shape in_words(Shape shape) {
  shape.steps /= 2;
  shape.rate_full /= 2;
  shape.rate_one /= 2;
  return shape;
}

constexpr Use nn_only{.nn = true, .tn = false, .nt = false};
constexpr Use nt_only{.nn = false, .tn = false, .nt = true};
// `rs` ones, and `pp` ones for nn, compute the output transposed, with the weight in registers.
constexpr std::array tf32_hopper_shapes{
    in_words(hopper("wg128x256", 128, 256, 4, two_blocks, 819, nt_only)),
    in_words(hopper("wg256x160", 256, 160, 3, two_groups, 1050, nt_only)),
    in_words(hopper("wg128x160", 128, 160, 5, two_groups, 550, nt_only)),
    in_words(hopper("wg128x80", 128, 80, 7, two_groups, 384, nt_only)),
    in_words(hopper("wg128x64", 128, 64, 8, two_groups, 317, nt_only)),
    in_words(hopper("wg64x192", 64, 192, 6, one_group, 430, nt_only)),
    in_words(hopper("wg64x64", 64, 64, 8, one_group, 310, nt_only)),
    in_words(hopper("wg64x32", 64, 32, 8, one_group, 282, nt_only)),
    in_words(hopper("pp128x128", 128, 128, 6, in_turn, 481, nt_only)),
    in_words(hopper("rs256x128", 256, 128, 4, two_groups, 881, nn_only)),
    in_words(hopper("rs192x128", 192, 128, 5, two_groups, 676, nn_only)),
    in_words(hopper("rs160x128", 160, 128, 5, two_groups, 602, nn_only)),
    in_words(hopper("rs128x192", 128, 192, 4, three_groups, 691, nn_only)),
    in_words(hopper("rs128x128", 128, 128, 6, two_groups, 522, nn_only)),
    in_words(hopper("rs96x128", 96, 128, 7, two_groups, 499, nn_only)),
    in_words(hopper("rs64x128", 64, 128, 8, two_groups, 415, nn_only)),
    in_words(hopper("rs128x64", 128, 64, 8, one_group, 445, nn_only)),
    in_words(hopper("rs64x64", 64, 64, 8, one_group, 328, nn_only)),
    in_words(hopper("rs32x64", 32, 64, 8, one_group, 319, nn_only)),
    in_words(hopper("pp192x64", 192, 64, 6, in_turn, 561, nn_only)),
};

/// Kernels are all combinations of these, as far as shapes have them.
struct Variants {
  Family family;
  Type in_type;
  std::span<const Type> out_types;
  std::span<const Shape> shapes;
  std::span<const std::int32_t> alignments;  // falling
};

constexpr std::array f32_only{Type::f32};
constexpr std::array bf16_or_f32{Type::bf16, Type::f32};
constexpr std::array f16_or_f32{Type::f16, Type::f32};
constexpr std::array<std::int32_t, 2> word_alignments{16, 4};
constexpr std::array<std::int32_t, 3> tf32_alignments{16, 8, 4};
constexpr std::array<std::int32_t, 4> half_alignments{16, 8, 4, 2};
constexpr std::array<std::int32_t, 1> wide_alignment{16};

constexpr std::array all_variants{
    Variants{Family::f32_tile, Type::f32, f32_only, f32_shapes, word_alignments},
    Variants{Family::mma_tile, Type::bf16, bf16_or_f32, half_shapes, half_alignments},
    Variants{Family::wgmma_tile, Type::bf16, bf16_or_f32, hopper_shapes, wide_alignment},
    Variants{Family::mma_tile, Type::f16, f16_or_f32, half_shapes, half_alignments},
    Variants{Family::wgmma_tile, Type::f16, f16_or_f32, hopper_shapes, wide_alignment},
    Variants{Family::mma_tile, Type::tf32, f32_only, tf32_shapes, tf32_alignments},
    Variants{Family::wgmma_tile, Type::tf32, f32_only, tf32_hopper_shapes, wide_alignment},
};

constexpr bool serves(const Use& use, Op op, bool sliced) {
  const bool is_for_op = op == Op::nn ? use.nn : op == Op::tn ? use.tn : use.nt;
  return is_for_op && (sliced ? use.sliced : use.single);
}

constexpr SliceMode sliced_mode(Family family, Op op) {
  return family == Family::f32_tile && op == Op::tn ? SliceMode::f64 : SliceMode::f32;
}

/// Only f32's contract cuts the reduction of a forward product.
constexpr bool can_be_sliced(Family family, Op op) { return family == Family::f32_tile || op == Op::tn; }

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

constexpr KernelRow make_row(const Variants& variants, const Shape& shape, Op op, Type out_type, SliceMode mode,
                             std::int32_t alignment) {
  KernelRow row;
  // A module each: NVRTC takes 20 ms for a module and up to half a second for a kernel, and the first product needs
  // one.
  NameBuilder module;
  module << name_of(variants.in_type);
  if (is_half(variants.in_type) && out_type != variants.in_type) module << name_of(out_type);
  module << "_" << name_of(op) << "_" << (mode == SliceMode::single ? "single" : "sliced") << "_a" << alignment << "_"
         << shape.name;
  row.module = module.name();
  row.symbol = (NameBuilder() << "mgemm_" << row.module.view()).name();
  row.family = variants.family;
  row.op = op;
  row.in_type = variants.in_type;
  row.out_type = out_type;
  row.tile_rows = shape.rows;
  row.tile_columns = shape.columns;
  row.tile_steps = shape.steps;
  row.stages = shape.stages;
  row.row_parts = shape.row_parts;
  row.column_parts = shape.column_parts;
  row.copy_warps = shape.copy_warps;
  row.tensor_maps = shape.tensor_maps;
  row.slice_groups = shape.slice_groups;
  row.cluster = shape.cluster;
  row.ping_pong = shape.ping_pong;
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
  for (const Variants& variants : all_variants) {
    for (const auto& [op, op_name] : op_names) {
      for (const Type out_type : variants.out_types) {
        if (op == Op::tn && out_type != Type::f32) continue;  // weight gradients are summed up in f32
        for (const bool sliced : {false, true}) {
          if (sliced && !can_be_sliced(variants.family, op)) continue;
          for (const std::int32_t alignment : variants.alignments) {
            for (const Shape& shape : variants.shapes) {
              if (!serves(shape.use, op, sliced)) continue;
              if (shape.use.wide_only && alignment != variants.alignments.front()) continue;
              const SliceMode mode = sliced ? sliced_mode(variants.family, op) : SliceMode::single;
              visit(make_row(variants, shape, op, out_type, mode, alignment));
            }
          }
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
static_assert(rows.size() <= most_counted_rows);

/// As F32Operand lays a stage out: rows along the reduction are padded by four words.
constexpr std::int32_t f32_stage_bytes(const KernelRow& row) {
  const auto floats = [&](std::int32_t extent, bool along_reduction) {
    return extent * (row.tile_steps + (along_reduction ? 4 : 0));
  };
  return 4 * (floats(row.tile_rows, row.op != Op::tn) + floats(row.tile_columns, row.op == Op::nt));
}

/// As MmaOperand does: lines of words that it must transpose are padded by eight words.
constexpr std::int32_t mma_stage_bytes(const KernelRow& row) {
  const auto elements = [&](std::int32_t extent, bool along_reduction) {
    const bool padded = row.family == Family::mma_tile && !is_half(row.in_type) && !along_reduction;
    return row.tile_steps * (extent + (padded ? 8 : 0));
  };
  return static_cast<std::int32_t>(size_of(row.in_type)) *
         (elements(row.tile_rows, row.op != Op::tn) + elements(row.tile_columns, row.op == Op::nt));
}

}  // namespace

std::int32_t KernelRow::shared_bytes() const {
  if (family == Family::f32_tile) return stages * f32_stage_bytes(*this);
  constexpr std::int32_t barrier_bytes = 16;     // a stage, and for the sums of slices
  constexpr std::int32_t rounding_bytes = 1024;  // up to where the copy engine may begin
  if (family == Family::wgmma_tile) {
    constexpr std::int32_t place_bytes = 4096;  // by which a warp stores sums
    const bool sliced = slices != SliceMode::single;
    const std::int32_t sums = sliced ? tile_rows * (tile_columns * 4 + 32) : 0;
    const std::int32_t places = sliced || out_type == Type::f32 ? 0 : 4 * row_parts * place_bytes;
    return std::max(stages * mma_stage_bytes(*this), sums) + (stages + 1) * barrier_bytes + places + rounding_bytes;
  }
  const std::int32_t other_sums = std::max(slice_groups - 1, 0) * tile_rows * tile_columns * 4;
  return stages * mma_stage_bytes(*this) + other_sums + (stages + 1) * barrier_bytes +
         (tensor_maps ? rounding_bytes : 0);
}

std::string why_not_held(const KernelRow& row, const Board& board) {
  if (row.family == Family::wgmma_tile && !board.warp_groups) return "it is for Hopper";
  if (row.tensor_maps && !board.tensor_maps) return "kernels do not use the copy engine on this board";
  if (row.shared_bytes() <= board.shared_bytes) return {};
  return fmt::format("it needs {} bytes of shared memory, there are {}", row.shared_bytes(), board.shared_bytes);
}

std::span<const KernelRow> catalogue() { return rows; }

const KernelRow* find_kernel(std::string_view symbol) {
  const auto* const found = std::ranges::find(rows, symbol, [](const KernelRow& row) { return row.symbol.view(); });
  return found == rows.end() ? nullptr : &*found;
}

std::int32_t number_of(const KernelRow& row) {
  const std::less<> before;
  const bool is_inside = !before(&row, rows.data()) && before(&row, rows.data() + rows.size());
  return is_inside ? static_cast<std::int32_t>(&row - rows.data()) : -1;
}

bool has_tensor_strides(const Problem& problem) {
  constexpr std::int64_t limit = std::int64_t{1} << 40U;  // of a tensor map, in bytes
  return std::max(problem.lda, problem.ldb) < limit / size_of(problem.in_type) &&
         problem.ldout < limit / size_of(problem.out_type);
}

bool covers(const KernelRow& row, const Problem& problem, const Contract& contract, std::int32_t alignment) {
  const SliceMode needed = contract.slices.count == 1   ? SliceMode::single
                           : contract.fold == Fold::f64 ? SliceMode::f64
                                                        : SliceMode::f32;
  return row.op == problem.op && row.in_type == problem.in_type && row.out_type == problem.out_type &&
         row.slices == needed && alignment % row.alignment == 0 && (!row.tensor_maps || has_tensor_strides(problem));
}

}  // namespace mgemm
