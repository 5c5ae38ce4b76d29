#include "route/dispatch.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "kernel/describe.hpp"

namespace mgemm {

double expected_clocks(const KernelRow& row, const Problem& problem, std::int32_t multiprocessors) {
  // The busiest multiprocessor works through `share` tiles. Its rate rises with the number of them that are resident,
  // r(n) = full * n / (n + h), with h such that r(1) is the measured rate of one.
  const auto share = static_cast<double>(ceil_div<std::int64_t>(tile_count(row, problem), multiprocessors));
  const double h = row.rate_full / row.rate_one - 1;
  const double rate = row.rate_full * share / (share + h);
  // A stage that is filled in part takes as long as a full one.
  const auto steps = static_cast<double>(ceil_div<std::int64_t>(reduction(problem), row.tile_steps) * row.tile_steps);
  constexpr double clocks_to_fetch_map = 250;
  return share * row.tile_rows * row.tile_columns * steps / rate + (row.tensor_maps ? clocks_to_fetch_map : 0);
}

std::vector<const KernelRow*> candidates(const Problem& problem, const Contract& contract, std::int32_t alignment,
                                         const Board& board) {
  std::vector<const KernelRow*> found;
  for (const KernelRow& row : catalogue()) {
    if (holds(row, board.shared_bytes, board.tensor_maps) && covers(row, problem, contract, alignment))
      found.push_back(&row);
  }
  // Wider copies first, then by cost.
  const auto key = [&](const KernelRow* row) {
    return std::pair(-row->alignment, expected_clocks(*row, problem, board.multiprocessors));
  };
  std::stable_sort(found.begin(), found.end(), [&](const KernelRow* a, const KernelRow* b) { return key(a) < key(b); });
  if (log_enabled(MGEMM_LOG_DISPATCH)) {
    for (const KernelRow* row : found) {
      log(MGEMM_LOG_DISPATCH, "{}: {} expects {:.0f} clocks", to_string(problem), row->symbol.view(),
          expected_clocks(*row, problem, board.multiprocessors));
    }
  }
  return found;
}

}  // namespace mgemm
