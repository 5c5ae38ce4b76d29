#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/driver.hpp"
#include "bench/report.hpp"

namespace mgemm::cli::bench {

/// Enqueues one product on operand set `index`.
using Enqueue = std::function<void(std::int64_t index)>;

/// Times replays of graphs on one stream.
class Stopwatch {
 public:
  explicit Stopwatch(const WorkStream& stream);

  const WorkStream& stream() const { return stream_; }
  /// Microseconds of a node, by events round `replays` replays. One goes before, so that the device is never waiting
  /// for the host when the time begins.
  double node_us(const Graph& graph, int replays) const;

 private:
  const WorkStream& stream_;
  Event start_, end_;
};

/// A graph of as many products as take a millisecond or a little more.
Graph fitting_graph(const Stopwatch& stopwatch, std::int64_t sets, const Enqueue& enqueue);

/// Replays the graphs in turn for at least so long, for clocks to settle.
void warm_up(const Stopwatch& stopwatch, std::span<const Graph* const> graphs, double milliseconds);

/// A timing of each graph: `windows` windows each, in the order A B C, C B A, A B C ..., so that a drift of clocks does
/// the same to all.
std::vector<Timing> time_interleaved(const Stopwatch& stopwatch, std::span<const Graph* const> graphs,
                                     std::int32_t windows);

/// Microseconds of a graph node that sets 4 bytes at `address`: what a node costs that does next to nothing.
double memset_node_us(const Stopwatch& stopwatch, std::uint64_t address);

}  // namespace mgemm::cli::bench
