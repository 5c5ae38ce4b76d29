#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "numeric/contract.hpp"

namespace mgemm {

/// A name built at compile time.
struct Name {
  std::array<char, 48> text{};
  constexpr std::string_view view() const { return text.data(); }
  constexpr const char* c_str() const { return text.data(); }
};

/// How a kernel treats the slices of a reduction.
enum class SliceMode : std::int32_t {
  single = 0,  // one chain; only for problems of one slice
  f32 = 1,     // one after the other in one thread block, folded in f32
  f64 = 2,     // the same, folded in f64
};

/// One kernel. The catalogue is the only place that knows it: module text, admission, dispatch, tools and documentation
/// are made from its row.
struct KernelRow {
  Name symbol;
  Name module;
  Op op{};
  Type in_type{}, out_type{};
  std::int32_t tile_rows = 0, tile_columns = 0, tile_steps = 0;  // output tile, and reduction steps a stage
  std::int32_t stages = 0;
  std::int32_t row_lanes = 0, column_lanes = 0;  // thread positions along rows and columns of the tile
  std::int32_t vector = 0;                       // reduction steps a thread reads from shared memory at a time
  std::int32_t min_blocks = 0;                   // resident thread blocks a multiprocessor that registers must allow
  SliceMode slices{};
  // Measured multiply-adds a clock and multiprocessor: fully occupied, and with one thread block. For dispatch only.
  double rate_full = 0, rate_one = 0;
  std::int32_t alignment = 0;  // bytes that a, b and their leading dimensions must be multiples of

  constexpr std::int32_t threads() const { return row_lanes * column_lanes; }
  std::int32_t shared_bytes() const;
};

/// All kernels, in the order of the documentation.
std::span<const KernelRow> catalogue();

/// The row of a symbol, or nullptr.
const KernelRow* find_kernel(std::string_view symbol);

/// Whether a kernel implements the contract of a problem whose operands have this alignment.
bool covers(const KernelRow& row, const Problem& problem, const Contract& contract, std::int32_t alignment);

}  // namespace mgemm
