#include "bench/report.hpp"

#include <algorithm>

#include "bench/product.hpp"
#include "statistics.hpp"

namespace mgemm::cli::bench {

double Timing::us() const { return median(windows_us); }

double Timing::spread() const { return cli::spread(windows_us); }

std::optional<double> Cell::ratio() const {
  if (!ours || !cublas || ours->us() <= 0) return std::nullopt;
  return cublas->us() / ours->us();
}

double Section::geometric_mean() const {
  std::vector<double> ratios;
  for (const Cell* const cell : cells)
    if (const std::optional<double> ratio = cell->ratio()) ratios.push_back(*ratio);
  return cli::geometric_mean(ratios);
}

const Cell* Section::minimum() const {
  const Cell* least = nullptr;
  for (const Cell* const cell : cells)
    if (cell->ratio() && (least == nullptr || *cell->ratio() < *least->ratio())) least = cell;
  return least;
}

std::int64_t Section::timed() const {
  return std::ranges::count_if(cells, [](const Cell* cell) { return cell->ours.has_value(); });
}

std::vector<Section> sections_of(const BenchReport& report) {
  std::vector<Section> sections;
  for (const Cell& cell : report.cells) {
    ProblemName name = name_of(cell.problem);
    auto found = std::ranges::find_if(
        sections, [&](const Section& section) { return section.op == name.op && section.type == name.type; });
    if (found == sections.end())
      found = sections.insert(sections.end(), {std::move(name.op), std::move(name.type), {}});
    found->cells.push_back(&cell);
  }
  return sections;
}

std::pair<std::uint32_t, std::uint32_t> sm_clocks(const BenchReport& report) {
  std::pair<std::uint32_t, std::uint32_t> clocks{0, 0};
  for (const Cell& cell : report.cells) {
    if (cell.sm_mhz == 0) continue;
    clocks.first = clocks.first == 0 ? cell.sm_mhz : std::min(clocks.first, cell.sm_mhz);
    clocks.second = std::max(clocks.second, cell.sm_mhz);
  }
  return clocks;
}

}  // namespace mgemm::cli::bench
