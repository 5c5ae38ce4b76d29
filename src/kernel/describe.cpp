#include "kernel/describe.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "device/current_context.hpp"
#include "gemm_params.h"
#include "kernel/tensor_map.hpp"

namespace mgemm {

std::int64_t tile_count(const KernelRow& row, const Problem& problem) {
  return ceil_div<std::int64_t>(output_rows(problem), row.tile_rows) *
         ceil_div<std::int64_t>(output_columns(problem), row.tile_columns);
}

std::int64_t cluster_count(const KernelRow& row, const Problem& problem) {
  return ceil_div<std::int64_t>(output_rows(problem), std::int64_t{row.cluster} * row.tile_rows) *
         ceil_div<std::int64_t>(output_columns(problem), row.tile_columns);
}

std::int64_t clusters_at_a_time(const KernelRow& row, std::int32_t multiprocessors) {
  return std::max(multiprocessors / row.cluster, 1);
}

bool fits_grid(const KernelRow& row, const Problem& problem) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // CUDA's limit of gridDim.x
  return tile_count(row, problem) <= most;
}

KernelLaunch describe_grid(const KernelRow& row, const Problem& problem, const Contract& contract,
                           std::int32_t multiprocessors) {
  KernelLaunch launch;
  launch.symbol = row.symbol.c_str();
  std::int64_t blocks = tile_count(row, problem);
  if (row.family == Family::wgmma_tile) {
    // One tile or one slice of it a block, or blocks that stay for one tile after another: as many clusters of those as
    // can run at a time. How many really do is a matter of speed alone.
    const bool sliced = row.slices != SliceMode::single;
    const std::int64_t clusters = sliced ? blocks : cluster_count(row, problem);
    const std::int64_t most = sliced ? clusters : clusters_at_a_time(row, multiprocessors);
    launch.cluster = static_cast<std::uint32_t>(sliced ? contract.slices.count : row.cluster);
    blocks = std::min(clusters, most) * launch.cluster;
  }
  launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  launch.block = {static_cast<std::uint32_t>(row.threads()), 1, 1};
  launch.shared_bytes = static_cast<std::uint32_t>(row.shared_bytes());
  launch.row = number_of(row);
  return launch;
}

void set_arguments(KernelLaunch& launch, const KernelBinding& kernel, const Problem& problem, const Contract& contract,
                   const mgemm_operands& operands) {
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  mgemm_kernel::TensorParams arguments{};
  mgemm_kernel::GemmParams& params = arguments.gemm;
  params.a = pointer(operands.a);
  params.b = pointer(operands.b);
  params.bias = problem.bias ? static_cast<const float*>(pointer(operands.bias)) : nullptr;
  params.out = pointer(operands.out);
  params.rows = output_rows(problem);
  params.columns = output_columns(problem);
  params.reduction = reduction(problem);
  params.lda = problem.lda;
  params.ldb = problem.ldb;
  params.ldout = problem.ldout;
  params.slice_length = contract.slices.length;
  params.alpha = problem.alpha;
  params.beta = problem.beta;
  if (kernel.row != nullptr && kernel.row->tensor_maps) {
    std::optional<CurrentContext> current;
    if (kernel.device != nullptr) current.emplace(kernel.device->driver(), kernel.device->context());
    if (const std::optional<TensorBox> box = box_of_out(*kernel.row, problem, operands.out)) {
      arguments.out = encode_tensor_map(kernel.encode, "operands.out", *box);
    }
    if (params.reduction != 0) {
      arguments.a = encode_tensor_map(kernel.encode, "operands.a", box_of_a(*kernel.row, problem, operands.a));
      arguments.b = encode_tensor_map(kernel.encode, "operands.b", box_of_b(*kernel.row, problem, operands.b));
      if (const std::optional<TensorBox> box = box_of_rest(*kernel.row, problem, operands.b)) {
        arguments.b_rest = encode_tensor_map(kernel.encode, "operands.b", *box);
      }
    }
  }
  static_assert(sizeof arguments == sizeof launch.arguments);
  std::memcpy(launch.arguments.data(), &arguments, sizeof arguments);
}

}  // namespace mgemm
