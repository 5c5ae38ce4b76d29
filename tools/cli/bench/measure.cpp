#include "bench/measure.hpp"

#include <chrono>

#include "bench/sizes.hpp"

namespace mgemm::cli::bench {
namespace {

constexpr int window_replays = 4;

}  // namespace

Stopwatch::Stopwatch(const WorkStream& stream) : stream_(stream), start_(stream.driver()), end_(stream.driver()) {}

double Stopwatch::node_us(const Graph& graph, int replays) const {
  constexpr double us_per_millisecond = 1000;
  graph.replay();
  start_.record(stream_);
  for (int i = 0; i < replays; ++i) graph.replay();
  end_.record(stream_);
  end_.synchronize();
  return us_per_millisecond * end_.milliseconds_since(start_) / (replays * static_cast<double>(graph.nodes()));
}

Graph fitting_graph(const Stopwatch& stopwatch, std::int64_t sets, const Enqueue& enqueue) {
  constexpr double unknown = 0;
  constexpr double warm_up_ms = 10;  // what is timed cold has too few nodes
  Graph graph(stopwatch.stream(), nodes_for(unknown, sets), enqueue);
  const Graph* const graphs[] = {&graph};
  warm_up(stopwatch, graphs, warm_up_ms);
  const std::int64_t nodes = nodes_for(stopwatch.node_us(graph, window_replays), sets);
  if (nodes == graph.nodes()) return graph;
  return {stopwatch.stream(), nodes, enqueue};
}

void warm_up(const Stopwatch& stopwatch, std::span<const Graph* const> graphs, double milliseconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  do {
    for (const Graph* const graph : graphs) static_cast<void>(stopwatch.node_us(*graph, 1));
  } while (std::chrono::duration<double, std::milli>(Clock::now() - start).count() < milliseconds);
}

std::vector<Timing> time_interleaved(const Stopwatch& stopwatch, std::span<const Graph* const> graphs,
                                     std::int32_t windows) {
  std::vector<Timing> timings;
  for (const Graph* const graph : graphs) timings.push_back({{}, graph->nodes(), graph->programmatic_edges()});
  for (std::int32_t window = 0; window < windows; ++window) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const std::size_t turn = window % 2 == 0 ? i : graphs.size() - 1 - i;
      timings[turn].windows_us.push_back(stopwatch.node_us(*graphs[turn], window_replays));
    }
  }
  return timings;
}

double memset_node_us(const Stopwatch& stopwatch, std::uint64_t address) {
  constexpr std::int64_t nodes = 512;
  constexpr std::int32_t windows = 9;
  const Driver& driver = stopwatch.stream().driver();
  const Graph graph(stopwatch.stream(), nodes, [&](std::int64_t) {
    driver.check(driver.memset_d32_async(address, 0, 1, stopwatch.stream().handle()), "cuMemsetD32Async");
  });
  const Graph* const graphs[] = {&graph};
  return time_interleaved(stopwatch, graphs, windows).front().us();
}

}  // namespace mgemm::cli::bench
