// A driver with streams, events and graphs and a clock of its own, as a file: replays take what their nodes take, and
// are done at once.
#include "fake_graphs.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/graph_abi.hpp"

using mgemm::cuda::Result;
using mgemm::test::FakeGraphs;
namespace bench = mgemm::cli::bench;
namespace cuda = mgemm::cuda;

struct CUgraph_st {
  std::int64_t nodes = 0;
};
struct CUgraphExec_st {
  std::int64_t nodes = 0;
  char letter = '?';
};
struct CUevent_st {
  double us = 0;
};
struct CUstream_st {
  CUgraph_st* captured = nullptr;
};

namespace {

FakeGraphs state;
double now_us = 0;

Result result_of(std::string_view call) { return call == state.fails ? Result::OutOfMemory : Result::Success; }

}  // namespace

extern "C" {

FakeGraphs* fake_graphs() { return &state; }

Result cuInit(unsigned /*flags*/) { return Result::Success; }
Result cuGetErrorName(Result /*error*/, const char** text) {
  *text = "CUDA_ERROR_FAKE";
  return Result::Success;
}
Result cuGetErrorString(Result /*error*/, const char** text) {
  *text = "it was asked to";
  return Result::Success;
}
Result cuDeviceGet(cuda::Device* device, int ordinal) {
  *device = ordinal;
  return Result::Success;
}
Result cuDeviceGetPCIBusId(char* text, int /*length*/, cuda::Device /*device*/) {
  *text = '\0';
  return Result::Success;
}
Result cuDevicePrimaryCtxRetain(cuda::Context* /*context*/, cuda::Device /*device*/) { return Result::Success; }
Result cuDevicePrimaryCtxRelease_v2(cuda::Device /*device*/) { return Result::Success; }
Result cuCtxPushCurrent_v2(cuda::Context /*context*/) { return Result::Success; }
Result cuCtxPopCurrent_v2(cuda::Context* /*context*/) { return Result::Success; }
Result cuStreamCreate(cuda::Stream* stream, unsigned /*flags*/) {
  *stream = new CUstream_st;
  ++state.streams;
  return Result::Success;
}
Result cuStreamDestroy_v2(cuda::Stream stream) {
  delete stream;
  --state.streams;
  return Result::Success;
}
Result cuStreamSynchronize(cuda::Stream /*stream*/) { return Result::Success; }
Result cuEventCreate(cuda::Event* event, unsigned /*flags*/) {
  *event = new CUevent_st;
  ++state.events;
  return Result::Success;
}
Result cuEventRecord(cuda::Event event, cuda::Stream /*stream*/) {
  event->us = now_us;
  return Result::Success;
}
Result cuEventSynchronize(cuda::Event /*event*/) { return Result::Success; }
Result cuEventElapsedTime(float* milliseconds, cuda::Event start, cuda::Event end) {
  *milliseconds = static_cast<float>((end->us - start->us) / 1000);
  return Result::Success;
}
Result cuEventDestroy_v2(cuda::Event event) {
  delete event;
  --state.events;
  return Result::Success;
}
Result cuMemsetD32Async(cuda::DevicePtr /*to*/, unsigned /*value*/, std::size_t /*count*/, cuda::Stream stream) {
  ++stream->captured->nodes;
  return result_of("cuMemsetD32Async");
}
Result cuStreamBeginCapture_v2(cuda::Stream stream, bench::CaptureMode /*mode*/) {
  stream->captured = new CUgraph_st;
  ++state.captures;
  ++state.graphs;
  return Result::Success;
}
Result cuStreamEndCapture(cuda::Stream stream, bench::GraphHandle* graph) {
  *graph = stream->captured;
  --state.captures;
  return result_of("cuStreamEndCapture");
}
Result cuGraphInstantiateWithFlags(bench::GraphExecHandle* executable, bench::GraphHandle graph,
                                   unsigned long long /*flags*/) {
  if (const Result result = result_of("cuGraphInstantiate"); result != Result::Success) return result;
  *executable = new CUgraphExec_st{graph->nodes, static_cast<char>('A' + state.made++)};
  ++state.executables;
  return Result::Success;
}
Result cuGraphLaunch(bench::GraphExecHandle executable, cuda::Stream /*stream*/) {
  state.replays += executable->letter;
  now_us += static_cast<double>(executable->nodes) * state.node_us;
  return result_of("cuGraphLaunch");
}
Result cuGraphGetEdges_v2(bench::GraphHandle graph, bench::GraphNode* /*from*/, bench::GraphNode* /*to*/,
                          bench::GraphEdge* edges, std::size_t* count) {
  *count = static_cast<std::size_t>(graph->nodes - 1);
  for (std::size_t i = 0; edges != nullptr && i < *count; ++i)
    edges[i] = {0, 0, static_cast<unsigned char>(i < static_cast<std::size_t>(state.programmatic)), {}};
  return Result::Success;
}
Result cuGraphExecDestroy(bench::GraphExecHandle executable) {
  delete executable;
  --state.executables;
  return Result::Success;
}
Result cuGraphDestroy(bench::GraphHandle graph) {
  delete graph;
  --state.graphs;
  return Result::Success;
}

}  // extern "C"
