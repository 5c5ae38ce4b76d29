#include "route/dispatch.hpp"

#include <algorithm>
#include <cmath>

#include "base/log.hpp"
#include "kernel/describe.hpp"

namespace mgemm {
namespace {

/// What storing a tile on tensor cores takes where nothing hides it.
double output_clocks(const KernelRow& row) {
  constexpr double for_a_half = 0.154;
  constexpr double for_a_float = 0.608;  // accumulated into, as a weight gradient is
  return static_cast<double>(row.tile_rows) * row.tile_columns * (is_half(row.out_type) ? for_a_half : for_a_float);
}

/// What a launch takes besides its tiles, where it matters: on tensor cores.
double startup_clocks(const KernelRow& row) {
  constexpr double for_fetching_maps = 400;
  constexpr double for_a_kibibyte = 12;  // of shared memory
  return for_a_kibibyte * row.shared_bytes() / 1024 + (row.tensor_maps ? for_fetching_maps : 0);
}

/// For kernels whose blocks stay for one tile after another.
double persistent_clocks(const KernelRow& row, const Problem& problem, double stages, double stage_clocks,
                         std::int32_t multiprocessors) {
  constexpr double not_hidden = 0.6;  // of what storing takes, while another tile is multiplied
  const auto share =
      static_cast<double>(ceil_div(cluster_count(row, problem), clusters_at_a_time(row, multiprocessors)));
  const double stores = row.ping_pong ? 1 + not_hidden * (share - 1) : share;
  return share * stages * stage_clocks + stores * output_clocks(row);
}

/// For clusters of one tile, a slice a block.
double sliced_clocks(const KernelRow& row, const Problem& problem, double stages, double stage_clocks,
                     std::int32_t multiprocessors) {
  // Larger clusters than pairs do not fit everywhere: on the 132 multiprocessors of an H200 40 of three took two turns.
  constexpr double room_for_large_ones = 0.89;
  constexpr double stored = 0.5;  // every block stores a part
  const auto slices = static_cast<double>(slices_of(problem));
  const double room = multiprocessors * (slices > 2 ? room_for_large_ones : 1);
  const double at_a_time = std::max(std::floor(room / slices), 1.0);
  const double share = std::ceil(static_cast<double>(tile_count(row, problem)) / at_a_time);
  return share * (stages * stage_clocks + stored * output_clocks(row));
}

/// What a stage takes of a Hopper kernel for few rows, whose weights come from memory.
double stage_clocks_of_few_rows(const KernelRow& row, const Problem& problem, double stage_clocks,
                                std::int32_t multiprocessors) {
  constexpr std::int64_t fewest_rows = 16;
  if (output_rows(problem) <= fewest_rows) return 2 * stage_clocks;  // most of what is multiplied is nothing
  // Bytes a clock into one of few multiprocessors, and how many less if all are fed. Widths that are no multiple of 64
  // come in short lines where columns lie side by side.
  constexpr double fed_alone = 58;
  constexpr double lost_to_others = 22;
  constexpr double for_short_lines = 1.6;
  constexpr double waits = 1.2;
  const double busy = std::min(static_cast<double>(tile_count(row, problem)) / multiprocessors, 1.0);
  const std::int64_t lines = row.tile_rows + row.tile_columns;
  const auto bytes = static_cast<double>(lines * row.tile_steps * size_of(row.in_type));
  const bool short_lines = row.op != Op::nt && row.tile_columns % 64 != 0 && row.tile_columns > 64;
  const double feeding = bytes / (fed_alone - lost_to_others * busy) * (short_lines ? for_short_lines : 1);
  return std::max(waits * stage_clocks, feeding);
}

double hopper_clocks(const KernelRow& row, const Problem& problem, std::int32_t multiprocessors) {
  constexpr double for_starting = 1500;
  constexpr std::int64_t few_rows = 64;
  const auto length = ceil_div<std::int64_t>(reduction(problem), slices_of(problem));
  const auto stages = static_cast<double>(ceil_div<std::int64_t>(length, row.tile_steps));
  double stage_clocks = static_cast<double>(row.tile_rows) * row.tile_columns * row.tile_steps / row.rate_one;
  if (output_rows(problem) <= few_rows) {
    stage_clocks = stage_clocks_of_few_rows(row, problem, stage_clocks, multiprocessors);
  }
  return for_starting + (row.slices == SliceMode::single
                             ? persistent_clocks(row, problem, stages, stage_clocks, multiprocessors)
                             : sliced_clocks(row, problem, stages, stage_clocks, multiprocessors));
}

constexpr double peak_of(Type type, const Peaks& peaks) {
  return is_half(type) ? peaks.halves : type == Type::tf32 ? peaks.tf32 : peaks.f32;
}

/// The highest rate that was measured of a type, but for Hopper's own kernels.
double fastest_rate(Type type) {
  double fastest = 0;
  for (const KernelRow& row : catalogue()) {
    if (row.in_type == type && row.family != Family::wgmma_tile) fastest = std::max(fastest, row.rate_full);
  }
  return fastest;
}

/// By how much less than the measured rates a class of boards does whose peak is below them. All rates of a type alike,
/// so that larger tiles, which load less, stay ahead of smaller ones.
double slowdown(Type type, const Peaks& peaks) {
  constexpr double of_peak = 0.85;  // is what the fastest kernel reaches at best
  const double peak = peak_of(type, peaks);
  return peak > 0 ? std::max(fastest_rate(type) / (of_peak * peak), 1.0) : 1.0;
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
        expected_clocks(*row, problem, board));
  }
  for (const KernelRow& row : catalogue()) {
    if (row.op != problem.op || row.in_type != problem.in_type || row.out_type != problem.out_type) continue;
    const std::string why = objection(row, problem, contract, alignment, board);
    if (!why.empty()) log(MGEMM_LOG_DISPATCH, "{}: {} is passed over: {}", to_string(problem), row.symbol.view(), why);
  }
}

}  // namespace

double expected_clocks(const KernelRow& row, const Problem& problem, const Board& board) {
  const std::int32_t multiprocessors = board.multiprocessors;
  if (row.family == Family::wgmma_tile) return hopper_clocks(row, problem, multiprocessors);
  // The busiest multiprocessor works through `share` tiles. Its rate rises with the number of them that are resident,
  // r(n) = full * n / (n + h), with h such that r(1) is the measured rate of one.
  const auto share = static_cast<double>(ceil_div<std::int64_t>(tile_count(row, problem), multiprocessors));
  const double h = row.rate_full / row.rate_one - 1;
  const double rate = row.rate_full * share / (share + h) / slowdown(row.in_type, board.peaks);
  // A stage that is filled in part takes as long as a full one.
  const auto steps = static_cast<double>(ceil_div<std::int64_t>(reduction(problem), row.tile_steps) * row.tile_steps);
  const double elements = static_cast<double>(row.tile_rows) * row.tile_columns;
  const double products = share * elements * steps / rate;
  return row.family == Family::f32_tile ? products : products + share * output_clocks(row) + startup_clocks(row);
}

std::vector<const KernelRow*> candidates(const Problem& problem, const Contract& contract, std::int32_t alignment,
                                         const Board& board) {
  std::vector<const KernelRow*> found;
  for (const KernelRow& row : catalogue()) {
    if (covers(row, problem, contract, alignment) && holds(row, board)) found.push_back(&row);
  }
  // Wider copies first, then by cost.
  const auto key = [&](const KernelRow* row) {
    return std::pair(-row->alignment, expected_clocks(*row, problem, board));
  };
  std::stable_sort(found.begin(), found.end(), [&](const KernelRow* a, const KernelRow* b) { return key(a) < key(b); });
  if (log_enabled(MGEMM_LOG_DISPATCH)) log_candidates(found, problem, contract, alignment, board);
  return found;
}

}  // namespace mgemm
