#include "kernel/tensor_map.hpp"

#include <array>
#include <bit>

#include "device/driver_table.hpp"

namespace mgemm {
namespace {

/// One operand in the terms of a tile: EXTENT rows or columns at so many steps.
struct Side {
  bool along_reduction = false;  // which way it is contiguous
  std::int32_t tile_extent = 0;
  std::int64_t extent = 0, leading = 0;
  std::int32_t parts = 1;  // of a box's lines, each brought by another thread block
};

TensorBox box_of(const KernelRow& row, const Problem& problem, const Side& side, std::uint64_t address) {
  const auto size = static_cast<std::int32_t>(size_of(problem.in_type));
  const std::int32_t line = size * (side.along_reduction ? row.tile_steps : side.tile_extent);
  const auto steps = static_cast<std::uint64_t>(reduction(problem));
  const auto extent = static_cast<std::uint64_t>(side.extent);
  TensorBox box;
  box.type = problem.in_type;
  box.address = address;
  box.inner = side.along_reduction ? steps : extent;
  box.outer = side.along_reduction ? extent : steps;
  box.leading = static_cast<std::uint64_t>(side.leading);
  box.line_bytes = static_cast<std::uint32_t>(mgemm_kernel::panel_bytes(line));
  box.lines = static_cast<std::uint32_t>((side.along_reduction ? side.tile_extent : row.tile_steps) / side.parts);
  return box;
}

/// So many of a tile's columns of b.
Side side_b(const Problem& problem, const KernelRow& row, std::int32_t columns) {
  return {problem.op == Op::nt, columns, output_columns(problem), problem.ldb, row.cluster};
}

/// How many columns of a tile come in the boxes of b, from the first on.
std::int32_t long_columns(const KernelRow& row) {
  const bool has_rest = row.family == Family::wgmma_tile && row.op != Op::nt && is_half(row.in_type);
  return has_rest ? mgemm_kernel::columns_in_long_lines(row.tile_columns) : row.tile_columns;
}

cuda::TensorMapDataType data_type(Type type) {
  switch (type) {
    case Type::bf16:
      return cuda::TensorMapDataType::BFloat16;
    case Type::f16:
      return cuda::TensorMapDataType::Float16;
    case Type::tf32:
      return cuda::TensorMapDataType::TFloat32;  // rounds to nearest even on the way
    case Type::f32:
      break;
  }
  return cuda::TensorMapDataType::Float32;
}

cuda::TensorMapSwizzle swizzle_of(std::uint32_t line_bytes) {
  switch (line_bytes) {
    case 128:
      return cuda::TensorMapSwizzle::Bytes128;
    case 64:
      return cuda::TensorMapSwizzle::Bytes64;
    case 32:
      return cuda::TensorMapSwizzle::Bytes32;
    default:
      return cuda::TensorMapSwizzle::None;
  }
}

}  // namespace

TensorBox box_of_a(const KernelRow& row, const Problem& problem, std::uint64_t address) {
  return box_of(row, problem, {problem.op != Op::tn, row.tile_rows, output_rows(problem), problem.lda}, address);
}

TensorBox box_of_b(const KernelRow& row, const Problem& problem, std::uint64_t address) {
  return box_of(row, problem, side_b(problem, row, long_columns(row)), address);
}

std::optional<TensorBox> box_of_rest(const KernelRow& row, const Problem& problem, std::uint64_t address) {
  const std::int32_t rest = row.tile_columns - long_columns(row);
  if (rest == 0) return {};
  return box_of(row, problem, side_b(problem, row, rest), address);
}

std::optional<TensorBox> box_of_out(const KernelRow& row, const Problem& problem, std::uint64_t address) {
  // As RowStore of cuda_src/row_store.cuh has it: addresses, strides and rows must be multiples of 16 bytes.
  constexpr std::int64_t unit = 16;
  constexpr std::uint32_t warp_rows = 16;
  const std::int64_t size = size_of(problem.out_type);
  const bool is_aligned =
      address % unit == 0 && problem.ldout * size % unit == 0 && output_columns(problem) * size % unit == 0;
  const bool stores_by_map = row.family == Family::wgmma_tile && is_half(row.out_type);
  if (!stores_by_map || !is_aligned) return {};
  TensorBox box;
  box.type = problem.out_type;
  box.address = address;
  box.inner = static_cast<std::uint64_t>(output_columns(problem));
  box.outer = static_cast<std::uint64_t>(output_rows(problem));
  box.leading = static_cast<std::uint64_t>(problem.ldout);
  box.line_bytes =
      static_cast<std::uint32_t>(mgemm_kernel::panel_bytes(static_cast<std::int32_t>(size) * row.tile_columns));
  box.lines = warp_rows;
  return box;
}

mgemm_kernel::TensorMap encode_tensor_map(cuda::fn::TensorMapEncodeTiled* encode, const char* name,
                                          const TensorBox& box) {
  const auto size = static_cast<std::uint64_t>(size_of(box.type));
  const std::array<std::uint64_t, 2> extents{box.inner, box.outer};
  const std::array<std::uint64_t, 1> strides{box.leading * size};
  const std::array<std::uint32_t, 2> lines{static_cast<std::uint32_t>(box.line_bytes / size), box.lines};
  constexpr std::array<std::uint32_t, 2> every_element{1, 1};
  cuda::TensorMap map{};
  check(encode(&map, data_type(box.type), 2, reinterpret_cast<void*>(box.address), extents.data(), strides.data(),
               lines.data(), every_element.data(), cuda::TensorMapInterleave::None, swizzle_of(box.line_bytes),
               cuda::TensorMapL2Promotion::Bytes256, cuda::TensorMapFill::Zeros),
        "cuTensorMapEncodeTiled", "{} at {:#x}, {} x {} elements, {} from row to row", name, box.address, box.outer,
        box.inner, box.leading);
  return std::bit_cast<mgemm_kernel::TensorMap>(map);
}

}  // namespace mgemm
