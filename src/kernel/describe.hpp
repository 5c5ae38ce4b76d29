#pragma once
#include <cstdint>

#include "base/cuda_abi.hpp"
#include "catalogue/catalogue.hpp"
#include "device/cuda_device.hpp"
#include "device/work.hpp"

namespace mgemm {

/// To be raised when tiles come to be laid out over the grid in another way.
constexpr int schedule_revision = 2;

/// Tiles of the output, one thread block each; grids are one-dimensional.
std::int64_t tile_count(const KernelRow& row, const Problem& problem);

/// Clusters of tiles below each other, of a kernel whose blocks stay for one after another.
std::int64_t cluster_count(const KernelRow& row, const Problem& problem);

/// How many of those clusters run at a time on so many multiprocessors.
std::int64_t clusters_at_a_time(const KernelRow& row, std::int32_t multiprocessors);

/// Whether the tiles of the output are not more than a grid may hold.
bool fits_grid(const KernelRow& row, const Problem& problem);

/// The launch of a kernel that fits on a device of so many multiprocessors, but for its function and the operands.
KernelLaunch describe_grid(const KernelRow& row, const Problem& problem, const Contract& contract,
                           std::int32_t multiprocessors);

/// What a kernel's arguments are made of besides the problem and its operands; all null for one without a row.
struct KernelBinding {
  const KernelRow* row = nullptr;
  cuda::fn::TensorMapEncodeTiled* encode = nullptr;  // for rows with tensor maps
  const CudaDevice* device = nullptr;                // whose context the driver wants to be current for that
};
inline KernelBinding binding_of(const KernelRow& row, const CudaDevice& device) {
  return {&row, device.driver().cuTensorMapEncodeTiled, &device};
}

/// The argument bytes for operands that have been checked.
void set_arguments(KernelLaunch& launch, const KernelBinding& kernel, const Problem& problem, const Contract& contract,
                   const mgemm_operands& operands);

}  // namespace mgemm
