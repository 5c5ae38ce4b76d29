#pragma once
#include <cstdint>

#include "catalogue/catalogue.hpp"
#include "device/work.hpp"

namespace mgemm {

/// Tiles of the output, one thread block each; grids are one-dimensional.
std::int64_t tile_count(const KernelRow& row, const Problem& problem);

/// The launch of a kernel, but for its function and the operands. Throws MGEMM_UNSUPPORTED if the grid is past the
/// limit.
KernelLaunch describe_grid(const KernelRow& row, const Problem& problem);

/// The argument bytes for operands that have been checked.
void set_arguments(KernelLaunch& launch, const Problem& problem, const Contract& contract,
                   const mgemm_operands& operands);

}  // namespace mgemm
