#include <algorithm>
#include <array>
#include <string_view>

#include "bench/product.hpp"
#include "bench/report.hpp"

namespace mgemm::cli::bench {
namespace {

struct KnownRoof {
  std::string_view board, type;
  double tflops;
};

// Dense, from the boards' data sheets.
constexpr std::array<KnownRoof, 4> known_tflops{
    {{"H200", "bf16", 989}, {"H200", "f16", 989}, {"H200", "tf32", 494}, {"H200", "f32", 67}}};

struct KnownMemory {
  std::string_view board;
  double gbytes;
};
constexpr std::array<KnownMemory, 1> known_gbytes{{{"H200", 4800}}};

bool is_board(const BenchReport& report, std::string_view board) {
  return report.header.device.find(board) != std::string::npos;
}

double known_rate(const BenchReport& report, std::string_view type) {
  for (const KnownRoof& roof : known_tflops)
    if (roof.type == type && is_board(report, roof.board)) return roof.tflops;
  return 0;
}

double known_memory(const BenchReport& report) {
  for (const KnownMemory& memory : known_gbytes)
    if (is_board(report, memory.board)) return memory.gbytes;
  return 0;
}

/// Types of one rate, such as bf16 and f16, share a line.
void add_roof(std::vector<Roof>& roofs, const std::string& type, double tflops) {
  if (tflops <= 0) return;
  const auto same = std::ranges::find(roofs, tflops, &Roof::tflops);
  if (same == roofs.end()) {
    roofs.push_back({type, tflops});
  } else {
    same->name += ", " + type;
  }
}

}  // namespace

Roofs roofs_of(const BenchReport& report, double peak_tflops, double peak_gbytes) {
  Roofs roofs{{}, peak_gbytes > 0 ? peak_gbytes : known_memory(report)};
  if (peak_tflops > 0) {
    roofs.flat.push_back({"peak", peak_tflops});
    return roofs;
  }
  std::vector<std::string> types;
  for (const Cell& cell : report.cells) {
    const std::string type = name_of(cell.problem).type;
    if (std::ranges::find(types, type) != types.end()) continue;
    types.push_back(type);
    add_roof(roofs.flat, type, known_rate(report, type));
  }
  return roofs;
}

}  // namespace mgemm::cli::bench
