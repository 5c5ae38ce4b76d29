#pragma once
#include <cstdint>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "catalogue/targets.hpp"
#include "device/device.hpp"

namespace mgemm {

/// To be raised when candidates() would give another order for the same rates.
constexpr int cost_model_revision = 5;

inline Board board_of(const DeviceFacts& facts) {
  const bool tensor_maps = facts.tensor_maps && has_tensor_maps(facts.compute_major);
  const CompileTarget* const row = find_target(facts.compute_major, facts.compute_minor);
  return {facts.multiprocessors, facts.shared_bytes_per_block, tensor_maps,
          tensor_maps && has_warp_groups(facts.compute_major), row != nullptr ? row->peaks : Peaks{}};
}

/// The kernels that cover a problem, fastest first by the cost model. A pure function of its arguments: it never looks
/// at the clock, and since all of them give the same bits, its answer is a matter of speed alone.
std::vector<const KernelRow*> candidates(const Problem& problem, const Contract& contract, std::int32_t alignment,
                                         const Board& board);

/// Clocks the cost model expects a kernel to take.
double expected_clocks(const KernelRow& row, const Problem& problem, const Board& board);

}  // namespace mgemm
