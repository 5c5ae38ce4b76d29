#include "bench/product.hpp"
#include "bench/report.hpp"

namespace mgemm::cli::bench {
namespace {

Json known(std::uint32_t number) { return number == 0 ? Json(nullptr) : Json(number); }

Json timing_json(const std::optional<Timing>& timing) {
  if (!timing) return nullptr;
  return {{"us", timing->us()},
          {"spread", timing->spread()},
          {"nodes", timing->nodes},
          {"programmatic_edges", timing->programmatic_edges < 0 ? Json(nullptr) : Json(timing->programmatic_edges)},
          {"windows_us", timing->windows_us}};
}

Json cell_json(const Cell& cell, bool versus) {
  Json json = {{"problem", cell.problem},
               {"kernel", cell.kernel},
               {"flops", cell.flops},
               {"bytes", cell.bytes},
               {"ours", timing_json(cell.ours)},
               {"tflops", cell.ours ? Json(cell.tflops(*cell.ours)) : Json(nullptr)},
               {"sm_mhz", known(cell.sm_mhz)},
               {"error", cell.error.empty() ? Json(nullptr) : Json(cell.error)}};
  if (!versus) return json;
  const std::optional<double> ratio = cell.ratio();
  json["cublas"] = timing_json(cell.cublas);
  json["best"] = timing_json(cell.best);
  json["heuristics"] = cell.heuristics;
  json["relative_difference"] = cell.disagreement;
  json["ratio"] = ratio ? Json(*ratio) : Json(nullptr);
  return json;
}

Json section_json(const Section& section) {
  const Cell* const least = section.minimum();
  return {
      {"op", section.op},
      {"type", section.type},
      {"cells", section.cells.size()},
      {"timed", section.timed()},
      {"geometric_mean", least != nullptr ? Json(section.geometric_mean()) : Json(nullptr)},
      {"minimum", least != nullptr ? Json{{"problem", least->problem}, {"ratio", *least->ratio()}} : Json(nullptr)}};
}

}  // namespace

Json bench_json(const BenchReport& report) {
  const Header& header = report.header;
  const auto [lowest, highest] = sm_clocks(report);
  Json json = {{"command", header.command_line},
               {"device", header.device},
               {"driver", header.driver},
               {"library", header.library},
               {"cublas", report.versus() ? Json(header.cublas) : Json(nullptr)},
               {"memset_node_us", header.node_us},
               {"windows", header.windows},
               {"sm_mhz", {{"lowest", known(lowest)}, {"highest", known(highest)}}},
               {"power_limit_w", known(header.power_limit_w)},
               {"cells", Json::array()},
               {"sections", Json::array()}};
  for (const Cell& cell : report.cells) json["cells"].push_back(cell_json(cell, report.versus()));
  for (const Section& section : sections_of(report)) json["sections"].push_back(section_json(section));
  return json;
}

}  // namespace mgemm::cli::bench
