#include "bench/driver.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace mgemm::cli::bench {
namespace {

/// Faults of kernels and of the board, after which every call on the CUDA context fails.
bool is_fatal(cuda::Result result) {
  constexpr std::array results{cuda::Result::EccUncorrectable,   cuda::Result::IllegalAddress,
                               cuda::Result::LaunchTimeout,      cuda::Result::Assert,
                               cuda::Result::HardwareStackError, cuda::Result::IllegalInstruction,
                               cuda::Result::MisalignedAddress,  cuda::Result::InvalidAddressSpace,
                               cuda::Result::InvalidPc,          cuda::Result::LaunchFailed,
                               cuda::Result::ContextIsDestroyed, cuda::Result::Unknown};
  return std::ranges::find(results, result) != results.end();
}

class GraphOwner {
 public:
  explicit GraphOwner(const Driver& driver) : driver_(driver) {}
  ~GraphOwner() {
    if (handle != nullptr) static_cast<void>(driver_.graph_destroy(handle));
  }
  GraphOwner(const GraphOwner&) = delete;
  GraphOwner& operator=(const GraphOwner&) = delete;
  GraphOwner(GraphOwner&&) = delete;
  GraphOwner& operator=(GraphOwner&&) = delete;

  GraphHandle handle = nullptr;

 private:
  const Driver& driver_;
};

/// Ends the capture also where something fails in it; the stream could not be used otherwise.
void capture(const WorkStream& stream, GraphOwner& graph, std::int64_t nodes,
             const std::function<void(std::int64_t)>& enqueue) {
  const Driver& driver = stream.driver();
  driver.check(driver.begin_capture(stream.handle(), CaptureMode::thread_local_only), "cuStreamBeginCapture");
  try {
    for (std::int64_t i = 0; i < nodes; ++i) enqueue(i);
  } catch (...) {
    static_cast<void>(driver.end_capture(stream.handle(), &graph.handle));
    throw;
  }
  driver.check(driver.end_capture(stream.handle(), &graph.handle), "cuStreamEndCapture");
}

std::int64_t count_programmatic(const Driver& driver, GraphHandle graph) {
  if (driver.graph_get_edges == nullptr) return -1;
  std::size_t count = 0;
  driver.check(driver.graph_get_edges(graph, nullptr, nullptr, nullptr, &count), "cuGraphGetEdges");
  std::vector<GraphNode> from(count);
  std::vector<GraphNode> to(count);
  std::vector<GraphEdge> edges(count);
  if (count != 0)
    driver.check(driver.graph_get_edges(graph, from.data(), to.data(), edges.data(), &count), "cuGraphGetEdges");
  return std::ranges::count(edges, programmatic_edge, &GraphEdge::type);
}

}  // namespace

Driver::Driver(const std::string& path) : library("CUDA driver", {path}) {
  library.find(init, "cuInit");
  library.find(get_error_name, "cuGetErrorName");
  library.find(get_error_string, "cuGetErrorString");
  library.find(device_get, "cuDeviceGet");
  library.find(device_get_pci_bus_id, "cuDeviceGetPCIBusId");
  library.find(primary_retain, "cuDevicePrimaryCtxRetain");
  library.find(primary_release, "cuDevicePrimaryCtxRelease_v2");
  library.find(push_current, "cuCtxPushCurrent_v2");
  library.find(pop_current, "cuCtxPopCurrent_v2");
  library.find(stream_create, "cuStreamCreate");
  library.find(stream_destroy, "cuStreamDestroy_v2");
  library.find(stream_synchronize, "cuStreamSynchronize");
  library.find(event_create, "cuEventCreate");
  library.find(event_record, "cuEventRecord");
  library.find(event_synchronize, "cuEventSynchronize");
  library.find(event_elapsed_time, "cuEventElapsedTime");
  library.find(event_destroy, "cuEventDestroy_v2");
  library.find(memset_d32_async, "cuMemsetD32Async");
  library.find(begin_capture, "cuStreamBeginCapture_v2");
  library.find(end_capture, "cuStreamEndCapture");
  library.find(graph_instantiate, "cuGraphInstantiateWithFlags");
  library.find(graph_launch, "cuGraphLaunch");
  library.find_if_any(graph_get_edges, "cuGraphGetEdges_v2");
  library.find(graph_exec_destroy, "cuGraphExecDestroy");
  library.find(graph_destroy, "cuGraphDestroy");
}

void Driver::check(cuda::Result result, const char* call) const {
  if (result == cuda::Result::Success) return;
  const char* name = nullptr;
  const char* text = nullptr;
  static_cast<void>(get_error_name(result, &name));
  static_cast<void>(get_error_string(result, &text));
  throw Failure(fmt::format("{} failed: {} ({}): {}", call, name != nullptr ? name : "unknown error",
                            static_cast<int>(result), text != nullptr ? text : "no text"),
                is_fatal(result));
}

PrimaryContext::PrimaryContext(const Driver& driver, std::int32_t ordinal) : driver_(driver) {
  driver.check(driver.init(0), "cuInit");
  driver.check(driver.device_get(&device_, ordinal), "cuDeviceGet");
  cuda::Context context = nullptr;
  driver.check(driver.primary_retain(&context, device_), "cuDevicePrimaryCtxRetain");
  const cuda::Result pushed = driver.push_current(context);
  if (pushed != cuda::Result::Success) static_cast<void>(driver.primary_release(device_));
  driver.check(pushed, "cuCtxPushCurrent");
}

PrimaryContext::~PrimaryContext() {
  cuda::Context popped = nullptr;
  static_cast<void>(driver_.pop_current(&popped));
  static_cast<void>(driver_.primary_release(device_));
}

std::string PrimaryContext::pci_bus_id() const {
  std::array<char, 32> text{};
  driver_.check(driver_.device_get_pci_bus_id(text.data(), static_cast<int>(text.size()), device_),
                "cuDeviceGetPCIBusId");
  return text.data();
}

WorkStream::WorkStream(const Driver& driver) : driver_(driver) {
  driver.check(driver.stream_create(&handle_, cuda::stream_non_blocking), "cuStreamCreate");
}

WorkStream::~WorkStream() {
  static_cast<void>(driver_.stream_synchronize(handle_));
  static_cast<void>(driver_.stream_destroy(handle_));
}

void WorkStream::synchronize() const { driver_.check(driver_.stream_synchronize(handle_), "cuStreamSynchronize"); }

Event::Event(const Driver& driver) : driver_(driver) {
  driver.check(driver.event_create(&handle_, cuda::event_default), "cuEventCreate");
}

Event::~Event() { static_cast<void>(driver_.event_destroy(handle_)); }

void Event::record(const WorkStream& stream) const {
  driver_.check(driver_.event_record(handle_, stream.handle()), "cuEventRecord");
}

void Event::synchronize() const { driver_.check(driver_.event_synchronize(handle_), "cuEventSynchronize"); }

double Event::milliseconds_since(const Event& start) const {
  float milliseconds = 0;
  driver_.check(driver_.event_elapsed_time(&milliseconds, start.handle_, handle_), "cuEventElapsedTime");
  return static_cast<double>(milliseconds);
}

Graph::Graph(const WorkStream& stream, std::int64_t nodes, const std::function<void(std::int64_t)>& enqueue)
    : stream_(&stream), nodes_(nodes) {
  const Driver& driver = stream.driver();
  GraphOwner graph(driver);
  capture(stream, graph, nodes, enqueue);
  programmatic_edges_ = count_programmatic(driver, graph.handle);
  driver.check(driver.graph_instantiate(&executable_, graph.handle, 0), "cuGraphInstantiate");
}

Graph::Graph(Graph&& other) noexcept
    : stream_(other.stream_),
      executable_(std::exchange(other.executable_, nullptr)),
      nodes_(other.nodes_),
      programmatic_edges_(other.programmatic_edges_) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  Graph taken(std::move(other));
  std::swap(stream_, taken.stream_);
  std::swap(executable_, taken.executable_);
  std::swap(nodes_, taken.nodes_);
  std::swap(programmatic_edges_, taken.programmatic_edges_);
  return *this;
}

Graph::~Graph() {
  if (executable_ != nullptr) static_cast<void>(stream_->driver().graph_exec_destroy(executable_));
}

void Graph::replay() const {
  const Driver& driver = stream_->driver();
  driver.check(driver.graph_launch(executable_, stream_->handle()), "cuGraphLaunch");
}

}  // namespace mgemm::cli::bench
