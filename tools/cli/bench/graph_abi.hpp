// What we use of the driver beside base/cuda_abi.hpp: graphs, which the library itself never makes, and a board's place
// on its bus. tests/tools/bench_abi_test.cpp compares with the toolkit's headers where they are installed.
#pragma once
#include <cstddef>

#include "base/cuda_abi.hpp"

struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace mgemm::cli::bench {

using GraphHandle = CUgraph_st*;
using GraphExecHandle = CUgraphExec_st*;
using GraphNode = CUgraphNode_st*;

/// CUstreamCaptureMode
enum class CaptureMode : int { thread_local_only = 1 };

/// CUgraphEdgeData
struct GraphEdge {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};
constexpr unsigned char programmatic_edge = 1;  // CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC

namespace fn {

using StreamBeginCapture = cuda::Result(cuda::Stream stream, CaptureMode mode);
using StreamEndCapture = cuda::Result(cuda::Stream stream, GraphHandle* graph);
using GraphInstantiateWithFlags = cuda::Result(GraphExecHandle* executable, GraphHandle graph,
                                               unsigned long long flags);
using GraphLaunch = cuda::Result(GraphExecHandle executable, cuda::Stream stream);
using GraphGetEdges = cuda::Result(GraphHandle graph, GraphNode* from, GraphNode* to, GraphEdge* edges,
                                   std::size_t* count);
using GraphExecDestroy = cuda::Result(GraphExecHandle executable);
using GraphDestroy = cuda::Result(GraphHandle graph);
using DeviceGetPCIBusId = cuda::Result(char* text, int length, cuda::Device device);

}  // namespace fn
}  // namespace mgemm::cli::bench
