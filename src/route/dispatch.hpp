#pragma once
#include <cstdint>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "device/device.hpp"

namespace mgemm {

/// To be raised when candidates() would give another order for the same rates.
constexpr int cost_model_revision = 4;

inline Board board_of(const DeviceFacts& facts) {
  const bool tensor_maps = facts.tensor_maps && has_tensor_maps(facts.compute_major);
  return {facts.multiprocessors, facts.shared_bytes_per_block, tensor_maps,
          tensor_maps && has_warp_groups(facts.compute_major)};
}

/// The kernels that cover a problem, fastest first by the cost model. A pure function of its arguments: it never looks
/// at the clock, and since all of them give the same bits, its answer is a matter of speed alone.
std::vector<const KernelRow*> candidates(const Problem& problem, const Contract& contract, std::int32_t alignment,
                                         const Board& board);

/// Clocks the cost model expects a kernel to take.
double expected_clocks(const KernelRow& row, const Problem& problem, std::int32_t multiprocessors);

}  // namespace mgemm
