#include "compile/module_text.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "compile/tensor_probe_text.hpp"

namespace mgemm {
namespace {

std::string_view header_of(Family family) {
  switch (family) {
    case Family::f32_tile:
      return "f32_tile.cuh";
    case Family::mma_tile:
      return "mma_tile.cuh";
    case Family::wgmma_tile:
      break;
  }
  return "wgmma_tile.cuh";
}

/// A row's instantiation of its family's template.
std::string tile_type(const KernelRow& row) {
  const auto op = static_cast<int>(row.op);
  if (row.family == Family::f32_tile) {
    return fmt::format("F32Tile<{}, {}, {}, {}, {}, {}, {}, {}, {}, {}>", op, row.tile_rows, row.tile_columns,
                       row.tile_steps, row.stages, row.row_parts, row.column_parts, row.alignment, row.vector,
                       static_cast<int>(row.slices));
  }
  if (row.family == Family::wgmma_tile) {
    return fmt::format("WgmmaTile<{}, {}, {}, {}, {}, {}, {}, {}, {}>", op, static_cast<int>(row.in_type),
                       static_cast<int>(row.out_type), row.tile_rows, row.tile_columns, row.stages, row.row_parts,
                       row.cluster,
                       row.slices != SliceMode::single ? "SLICES"
                       : row.ping_pong                 ? "PING_PONG"
                                                       : "COOPERATIVE");
  }
  return fmt::format("MmaTile<{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}>", op, static_cast<int>(row.in_type),
                     static_cast<int>(row.out_type), row.tile_rows, row.tile_columns, row.tile_steps, row.stages,
                     row.row_parts, row.column_parts, row.copy_warps, row.alignment, row.tensor_maps, row.slice_groups);
}

std::string kernel_text(const KernelRow& row) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({threads}, {min_blocks})\n"
      "{symbol}(const __grid_constant__ {params} p) {{\n"
      "  using Tile = {tile};\n"
      "  static_assert(Tile::kThreads == {threads} && Tile::kSharedBytes == {shared}, \"catalogue and tile agree\");\n"
      "  Tile::run(p);\n"
      "}}\n",
      fmt::arg("threads", row.threads()), fmt::arg("min_blocks", row.min_blocks), fmt::arg("symbol", row.symbol.view()),
      fmt::arg("params", row.tensor_maps ? "TensorParams" : "GemmParams"), fmt::arg("tile", tile_type(row)),
      fmt::arg("shared", row.shared_bytes()));
}

}  // namespace

std::string kernels_text(std::span<const KernelRow> rows) {
  std::string text = fmt::format("#include \"{}\"\nusing namespace mgemm_kernel;\n", header_of(rows.front().family));
  for (const KernelRow& row : rows) text += kernel_text(row);
  return text;
}

std::string module_text(std::string_view module) {
  if (module == tensor_probe_module) return tensor_probe_text();
  std::vector<KernelRow> rows;
  std::ranges::copy_if(catalogue(), std::back_inserter(rows),
                       [&](const KernelRow& row) { return row.module.view() == module; });
  if (rows.empty()) fail(MGEMM_INTERNAL, "the catalogue has no module '{}'", module);
  return kernels_text(rows);
}

}  // namespace mgemm
