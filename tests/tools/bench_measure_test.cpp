// How `mamba-gemm bench` measures, on a fake driver with a clock of its own.
#include "bench/measure.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "fake_graphs.hpp"
#include "support/test.hpp"

using namespace mgemm::cli::bench;
using mgemm::test::FakeGraphs;
using mgemm::test::FakeGraphsFunction;

namespace {

/// The fake driver as new, and what a measurement needs.
struct Machine {
  Driver driver{MGEMM_FAKE_GRAPHS};
  FakeGraphs& fake = *state_of(driver);
  WorkStream stream{driver};
  Stopwatch stopwatch{stream};

  static FakeGraphs* state_of(const Driver& driver) {
    FakeGraphsFunction* function = nullptr;
    driver.library.find(function, "fake_graphs");
    *function() = {};
    return function();
  }
  void enqueue() const { driver.check(driver.memset_d32_async(0, 0, 1, stream.handle()), "cuMemsetD32Async"); }
  Graph graph(std::int64_t nodes) const {
    return Graph(stream, nodes, [&](std::int64_t) { enqueue(); });
  }
};

std::string failure_of(const Machine& machine, std::int64_t nodes) {
  try {
    const Graph graph = machine.graph(nodes);
    graph.replay();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

bool near(double value, double expected) { return std::fabs(value - expected) < 1e-3 * expected; }

}  // namespace

// Catches a side that always goes first, and windows that are left out.
TEST_CASE("sides are timed in the order A B, B A") {
  const Machine machine;
  const Graph a = machine.graph(10);
  const Graph b = machine.graph(20);
  const Graph* const graphs[] = {&a, &b};
  const std::vector<Timing> timings = time_interleaved(machine.stopwatch, graphs, 3);
  CHECK(machine.fake.replays ==
        "AAAAABBBBB"
        "BBBBBAAAAA"
        "AAAAABBBBB");
  REQUIRE(timings.size() == 2);
  CHECK(timings[0].windows_us.size() == 3);
  CHECK(timings[0].nodes == 10);
  CHECK(timings[1].nodes == 20);
}

// Catches a time of the whole graph, of all replays, of the one before the first event, or in milliseconds.
TEST_CASE("a window gives the time of one node") {
  const Machine machine;
  machine.fake.node_us = 7;
  CHECK(near(machine.stopwatch.node_us(machine.graph(100), 3), 7));
  CHECK(near(memset_node_us(machine.stopwatch, 0), 7));
}

// Catches graphs of the size of the first guess, and sets that are walked in part.
TEST_CASE("a graph takes about a millisecond") {
  const Machine machine;
  std::int64_t last = -1;
  const Graph graph = fitting_graph(machine.stopwatch, 3, [&](std::int64_t index) {
    machine.enqueue();
    last = index;
  });
  CHECK(graph.nodes() == 501);
  CHECK(last == 500);
}

// Catches launches that overlap and are not seen.
TEST_CASE("programmatic edges are counted") {
  const Machine machine;
  CHECK(machine.graph(5).programmatic_edges() == 0);
  machine.fake.programmatic = 3;
  CHECK(machine.graph(5).programmatic_edges() == 3);
  const Graph graph = machine.graph(9);
  const Graph* const graphs[] = {&graph};
  CHECK(time_interleaved(machine.stopwatch, graphs, 1).front().programmatic_edges == 3);
}

// Catches a failure without its call, name, code and text, a stream that is left in capture, and objects that are not
// given back.
TEST_CASE("failing driver calls leave nothing behind") {
  FakeGraphs* fake = nullptr;
  for (const char* const call : {"cuMemsetD32Async", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch"}) {
    const Machine machine;
    fake = &machine.fake;
    fake->fails = call;
    CAPTURE(call);
    CHECK(failure_of(machine, 4) == std::string(call) + " failed: CUDA_ERROR_FAKE (2): it was asked to");
    CHECK(fake->graphs + fake->executables + fake->captures == 0);
  }
  CHECK(fake->nothing_left());
}

// Catches an exception of other origin that leaves the stream in capture, and moved graphs that are ended twice.
TEST_CASE("graphs end with their owners") {
  const Machine machine;
  CHECK_THROWS_AS(Graph(machine.stream, 3, [](std::int64_t) { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(machine.fake.captures == 0);
  CHECK(machine.fake.graphs == 0);
  {
    Graph first = machine.graph(2);
    Graph second = machine.graph(3);
    second = std::move(first);
    CHECK(machine.fake.executables == 1);
    CHECK(second.nodes() == 2);
  }
  CHECK(machine.fake.executables == 0);
}
