#include <algorithm>

#include <fmt/core.h>

#include "bench/product.hpp"
#include "bench/report.hpp"

namespace mgemm::cli::bench {
namespace {

std::string board_line(const BenchReport& report) {
  const auto [lowest, highest] = sm_clocks(report);
  const std::string clock = highest == 0 ? "unknown" : fmt::format("{} to {} MHz", lowest, highest);
  const std::uint32_t watts = report.header.power_limit_w;
  return fmt::format("SM clock behind the cells {}, power limit {}", clock,
                     watts == 0 ? "unknown" : fmt::format("{} W", watts));
}

std::string header_text(const BenchReport& report) {
  const Header& header = report.header;
  std::string text = fmt::format("# mamba-gemm bench\n\n- command: `{}`\n- device: {}\n- driver: {}\n- library: {}\n",
                                 header.command_line, header.device, header.driver, header.library);
  if (report.versus()) text += fmt::format("- cuBLAS: {}\n", header.cublas);
  text += fmt::format("- board: {}\n", board_line(report));
  text += fmt::format("- a graph node of a 4-byte memset takes {:.2f} us\n", header.node_us);
  text += fmt::format("- medians of {} windows; spread is (75th - 25th percentile) / median\n", header.windows);
  return text;
}

/// Two numbers of a row: microseconds and spread.
std::string time_cells(const std::optional<Timing>& timing) {
  if (!timing) return "- | - |";
  return fmt::format("{:.2f} | {:.1f} % |", timing->us(), 100 * timing->spread());
}

std::string versus_cells(const Cell& cell) {
  const std::string best = cell.best ? fmt::format("{:.2f}", cell.best->us()) : "-";
  const std::string ratio = cell.ratio() ? fmt::format("{:.3f}", *cell.ratio()) : "-";
  return fmt::format(" {} {} | {} |", time_cells(cell.cublas), best, ratio);
}

/// What stands in a table must not end its cell or its line.
std::string in_table(std::string text) {
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string row(const Cell& cell, bool versus) {
  const std::string what = cell.error.empty() ? cell.kernel : "error: " + in_table(cell.error);
  const std::string rate = cell.ours ? fmt::format("{:.1f}", cell.tflops(*cell.ours)) : "-";
  return fmt::format("| {} | {} | {}{} {} |\n", name_of(cell.problem).label, what, time_cells(cell.ours),
                     versus ? versus_cells(cell) : "", rate);
}

bool overlaps(const Cell* cell) {
  return (cell->cublas && cell->cublas->programmatic_edges > 0) || (cell->best && cell->best->programmatic_edges > 0);
}

std::string summary(const Section& section) {
  const auto all = static_cast<std::int64_t>(section.cells.size());
  std::string text = fmt::format("\n{} cells", all);
  if (section.timed() != all) text += fmt::format(", {} of them not timed", all - section.timed());
  if (const Cell* const least = section.minimum())
    text += fmt::format("; cuBLAS / ours: geometric mean {:.3f}, minimum {:.3f} at {}", section.geometric_mean(),
                        *least->ratio(), name_of(least->problem).label);
  const auto overlapped = std::ranges::count_if(section.cells, overlaps);
  if (overlapped != 0) text += fmt::format("; {} with programmatic dependent launches of cuBLAS's", overlapped);
  return text + "\n";
}

std::string section_text(const Section& section, bool versus) {
  std::string text = fmt::format("\n## {} {}\n\n", section.op, section.type);
  text += versus
              ? "| M,K,N | kernel | ours us | spread | cuBLAS us | spread | best of 8 us | cuBLAS / ours | TFLOP/s |\n"
                "|---|---|---|---|---|---|---|---|---|\n"
              : "| M,K,N | kernel | ours us | spread | TFLOP/s |\n|---|---|---|---|---|\n";
  for (const Cell* const cell : section.cells) text += row(*cell, versus);
  return text + summary(section);
}

}  // namespace

std::string bench_markdown(const BenchReport& report) {
  std::string text = header_text(report);
  for (const Section& section : sections_of(report)) text += section_text(section, report.versus());
  return text;
}

}  // namespace mgemm::cli::bench
