#include "route/dispatch.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "kernel/describe.hpp"

namespace mgemm {
namespace {

/// What a launch takes besides its products, where it matters: on tensor cores. Of a tile the last outputs are not
/// hidden.
double startup_clocks(const KernelRow& row, double elements) {
  constexpr double for_fetching_maps = 400;
  constexpr double for_an_element = 0.125;
  constexpr double for_a_kibibyte = 12;  // of shared memory
  if (row.family == Family::f32_tile) return 0;
  return for_an_element * elements + for_a_kibibyte * row.shared_bytes() / 1024 +
         (row.tensor_maps ? for_fetching_maps : 0);
}

/// The same for kernels whose blocks stay for one tile after another, or for a slice of one.
double hopper_clocks(const KernelRow& row, const Problem& problem, std::int32_t multiprocessors) {
  constexpr double for_starting = 1500;
  constexpr double for_an_element_of_half = 0.154;
  constexpr double for_an_element = 0.608;  // f32 that is accumulated into, as a weight gradient is
  constexpr double not_hidden = 0.6;        // of that, while another tile is multiplied
  const bool sliced = row.slices != SliceMode::single;
  const std::int64_t slices = sliced ? slices_of(problem) : 1;
  // Blocks that run at a time.
  const std::int64_t blocks = sliced ? tile_count(row, problem) * slices : cluster_count(row, problem) * row.cluster;
  const auto share = static_cast<double>(ceil_div<std::int64_t>(blocks, std::max(multiprocessors, row.cluster)));
  const auto stages =
      static_cast<double>(ceil_div<std::int64_t>(ceil_div<std::int64_t>(reduction(problem), slices), row.tile_steps));
  const double elements = static_cast<double>(row.tile_rows) * row.tile_columns;
  const double stage = elements * row.tile_steps / row.rate_one;
  const double outputs = elements * (is_half(row.out_type) ? for_an_element_of_half : for_an_element);
  return for_starting + share * stages * stage + outputs * (row.ping_pong ? 1 + not_hidden * (share - 1) : share);
}

/// Why a kernel for such operations and types does not serve a problem on a board; "" if it does.
std::string objection(const KernelRow& row, const Problem& problem, const Contract& contract, std::int32_t alignment,
                      const Board& board) {
  std::string why = why_not_held(row, board);
  if (!why.empty()) return why;
  if (alignment % row.alignment != 0) {
    return fmt::format("it copies {} bytes at a time, and the operands are aligned to {}", row.alignment, alignment);
  }
  if (row.tensor_maps && !has_tensor_strides(problem)) return "a leading dimension is 2^40 bytes or more";
  if (covers(row, problem, contract, alignment)) return {};
  return fmt::format("it is for {}, and the reduction has {}", row.slices == SliceMode::single ? "one slice" : "slices",
                     contract.slices.count);
}

void log_candidates(const std::vector<const KernelRow*>& found, const Problem& problem, const Contract& contract,
                    std::int32_t alignment, const Board& board) {
  for (const KernelRow* const row : found) {
    log(MGEMM_LOG_DISPATCH, "{}: {} expects {:.0f} clocks", to_string(problem), row->symbol.view(),
        expected_clocks(*row, problem, board.multiprocessors));
  }
  for (const KernelRow& row : catalogue()) {
    if (row.op != problem.op || row.in_type != problem.in_type || row.out_type != problem.out_type) continue;
    const std::string why = objection(row, problem, contract, alignment, board);
    if (!why.empty()) log(MGEMM_LOG_DISPATCH, "{}: {} is passed over: {}", to_string(problem), row.symbol.view(), why);
  }
}

}  // namespace

double expected_clocks(const KernelRow& row, const Problem& problem, std::int32_t multiprocessors) {
  if (row.family == Family::wgmma_tile) return hopper_clocks(row, problem, multiprocessors);
  // The busiest multiprocessor works through `share` tiles. Its rate rises with the number of them that are resident,
  // r(n) = full * n / (n + h), with h such that r(1) is the measured rate of one.
  const auto share = static_cast<double>(ceil_div<std::int64_t>(tile_count(row, problem), multiprocessors));
  const double h = row.rate_full / row.rate_one - 1;
  const double rate = row.rate_full * share / (share + h);
  // A stage that is filled in part takes as long as a full one.
  const auto steps = static_cast<double>(ceil_div<std::int64_t>(reduction(problem), row.tile_steps) * row.tile_steps);
  const double elements = static_cast<double>(row.tile_rows) * row.tile_columns;
  return share * elements * steps / rate + startup_clocks(row, elements);
}

std::vector<const KernelRow*> candidates(const Problem& problem, const Contract& contract, std::int32_t alignment,
                                         const Board& board) {
  std::vector<const KernelRow*> found;
  for (const KernelRow& row : catalogue()) {
    if (holds(row, board) && covers(row, problem, contract, alignment)) found.push_back(&row);
  }
  // Wider copies first, then by cost.
  const auto key = [&](const KernelRow* row) {
    return std::pair(-row->alignment, expected_clocks(*row, problem, board.multiprocessors));
  };
  std::stable_sort(found.begin(), found.end(), [&](const KernelRow* a, const KernelRow* b) { return key(a) < key(b); });
  if (log_enabled(MGEMM_LOG_DISPATCH)) log_candidates(found, problem, contract, alignment, board);
  return found;
}

}  // namespace mgemm
