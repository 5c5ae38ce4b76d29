#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace mgemm::cli::bench {

using Json = nlohmann::ordered_json;

/// Of one side of a cell.
struct Timing {
  std::vector<double> windows_us;       // the time of one product, a window each
  std::int64_t nodes = 0;               // products of one graph
  std::int64_t programmatic_edges = 0;  // of it: products that begin before the one before has ended; -1 unknown

  double us() const;
  double spread() const;
};

/// One problem that was timed, or why it was not.
struct Cell {
  std::string problem;
  std::string kernel;
  double flops = 0, bytes = 0;
  std::optional<Timing> ours, cublas, best;  // cublas: the first of its heuristics; best: of `heuristics`
  std::int32_t heuristics = 0;
  double disagreement = 0;   // relative error norm between both outputs
  std::uint32_t sm_mhz = 0;  // just behind it; 0 unknown
  std::string error;         // "" if it was timed

  /// How many times as fast as cuBLAS we are.
  std::optional<double> ratio() const;
  double tflops(const Timing& timing) const { return flops / timing.us() * 1e-6; }
};

struct Header {
  std::string command_line;
  std::string device;
  std::string driver;
  std::string library;
  std::string cublas;               // "" if it is not timed
  double node_us = 0;               // a node of a graph that does next to nothing
  std::uint32_t power_limit_w = 0;  // 0 unknown
  std::int32_t windows = 0;
};

// NOLINTNEXTLINE(bugprone-exception-escape): moving strings does not throw
struct BenchReport {
  Header header;
  std::vector<Cell> cells;

  bool versus() const { return !header.cublas.empty(); }
};

/// What the cells of one op and type have in common.
struct Section {
  std::string op, type;
  std::vector<const Cell*> cells;  // of the report it is made from

  double geometric_mean() const;
  /// The cell with the least ratio; null if none was compared.
  const Cell* minimum() const;
  std::int64_t timed() const;
};

/// In the order in which their first cells come.
std::vector<Section> sections_of(const BenchReport& report);

/// Megahertz behind the slowest-clocked and the fastest-clocked cell; 0 unknown.
std::pair<std::uint32_t, std::uint32_t> sm_clocks(const BenchReport& report);

std::string bench_markdown(const BenchReport& report);
Json bench_json(const BenchReport& report);

/// What a board can do at most, in the types that were timed.
struct Roof {
  std::string name;
  double tflops = 0;
};
struct Roofs {
  std::vector<Roof> flat;
  double gbytes = 0;  // a second; 0 unknown

  bool known() const { return gbytes > 0 && !flat.empty(); }
};

/// `peak_tflops` and `peak_gbytes` where they are not 0, and else what is known of the board; no roof of the rest.
Roofs roofs_of(const BenchReport& report, double peak_tflops, double peak_gbytes);

/// A roofline plot of the timed cells.
std::string bench_svg(const BenchReport& report, const Roofs& roofs);

}  // namespace mgemm::cli::bench
