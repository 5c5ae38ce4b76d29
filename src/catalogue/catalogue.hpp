#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "catalogue/board.hpp"
#include "numeric/contract.hpp"

namespace mgemm {

/// A name built at compile time.
struct Name {
  std::array<char, 48> text{};
  constexpr std::string_view view() const { return text.data(); }
  constexpr const char* c_str() const { return text.data(); }
};

/// The template of cuda_src/ that a kernel is made from.
enum class Family : std::int32_t {
  f32_tile,    // exact f32, one thread a register block
  mma_tile,    // tensor cores, one warp a part of the tile, and others that only copy
  wgmma_tile,  // Hopper's tensor cores, four warps a part of the tile, and one thread that only copies
};

/// How a kernel treats the slices of a reduction.
enum class SliceMode : std::int32_t {
  single = 0,  // one chain; only for problems of one slice
  f32 = 1,     // several in one thread block, folded in f32
  f64 = 2,     // the same, folded in f64
};

inline constexpr std::int32_t warp_size = 32;

/// One kernel. The catalogue is the only place that knows it: module text, admission, dispatch, tools and documentation
/// are made from its row.
struct KernelRow {
  Name symbol;
  Name module;
  Family family{};
  Op op{};
  Type in_type{}, out_type{};
  std::int32_t tile_rows = 0, tile_columns = 0, tile_steps = 0;  // output tile, and reduction steps a stage
  std::int32_t stages = 0;
  std::int32_t row_parts = 0, column_parts = 0;  // into which threads, warps or groups of four warps cut the tile
  std::int32_t copy_warps = 0;                   // that do nothing else; mma_tile only
  bool tensor_maps = false;                      // the copy engine copies
  std::int32_t cluster = 1;                      // thread blocks with tiles below each other that share b; wgmma_tile
  bool ping_pong = false;                        // groups of warps take turns with tiles; wgmma_tile only
  std::int32_t slice_groups = 0;                 // slices computed side by side; mma_tile only, 0 with one slice
  std::int32_t vector = 0;      // f32_tile: reduction steps a thread reads from shared memory at a time
  std::int32_t min_blocks = 0;  // resident thread blocks a multiprocessor that registers must allow
  SliceMode slices{};
  // Measured multiply-adds a clock and multiprocessor: fully occupied, and with one thread block. For dispatch only.
  double rate_full = 0, rate_one = 0;
  std::int32_t alignment = 0;  // bytes that a, b and their leading dimensions must be multiples of

  constexpr std::int32_t threads() const {
    const std::int32_t parts = row_parts * column_parts;
    if (family == Family::f32_tile) return parts;
    if (family == Family::wgmma_tile) return 4 * warp_size * (parts + 1);
    return warp_size * (parts * std::max(slice_groups, 1) + copy_warps);
  }
  std::int32_t shared_bytes() const;
};

/// All kernels, in the order of the documentation.
std::span<const KernelRow> catalogue();

/// The row of a symbol, or nullptr.
const KernelRow* find_kernel(std::string_view symbol);

/// A row's place in the catalogue, or -1 for a copy.
std::int32_t number_of(const KernelRow& row);

/// Why a board has not got a kernel; "" if it has.
std::string why_not_held(const KernelRow& row, const Board& board);
inline bool holds(const KernelRow& row, const Board& board) { return why_not_held(row, board).empty(); }

/// Whether the operands' leading dimensions are such as tensor maps can have.
bool has_tensor_strides(const Problem& problem);

/// Whether a kernel implements the contract of a problem whose operands have this alignment.
bool covers(const KernelRow& row, const Problem& problem, const Contract& contract, std::int32_t alignment);

}  // namespace mgemm
