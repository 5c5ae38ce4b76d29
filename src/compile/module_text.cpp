#include "compile/module_text.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"

namespace mgemm {
namespace {

std::string kernel_text(const KernelRow& row) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({threads}, {min_blocks})\n"
      "{symbol}(const __grid_constant__ F32Params p) {{\n"
      "  using Tile = F32Tile<{op}, {rows}, {columns}, {steps}, {stages}, {row_lanes}, {column_lanes}, {alignment}, "
      "{vector}, {slices}>;\n"
      "  static_assert(Tile::kThreads == {threads} && Tile::kSharedBytes == {shared}, \"catalogue and tile agree\");\n"
      "  Tile::run(p);\n"
      "}}\n",
      fmt::arg("threads", row.threads()), fmt::arg("min_blocks", row.min_blocks), fmt::arg("symbol", row.symbol.view()),
      fmt::arg("op", static_cast<int>(row.op)), fmt::arg("rows", row.tile_rows), fmt::arg("columns", row.tile_columns),
      fmt::arg("steps", row.tile_steps), fmt::arg("stages", row.stages), fmt::arg("row_lanes", row.row_lanes),
      fmt::arg("column_lanes", row.column_lanes), fmt::arg("alignment", row.alignment), fmt::arg("vector", row.vector),
      fmt::arg("slices", static_cast<int>(row.slices)), fmt::arg("shared", row.shared_bytes()));
}

}  // namespace

std::string module_text(std::string_view module) {
  std::string text = "#include \"f32_tile.cuh\"\nusing namespace mgemm_kernel;\n";
  bool any = false;
  for (const KernelRow& row : catalogue()) {
    if (row.module.view() != module) continue;
    text += kernel_text(row);
    any = true;
  }
  if (!any) fail(MGEMM_INTERNAL, "the catalogue has no module '{}'", module);
  return text;
}

}  // namespace mgemm
