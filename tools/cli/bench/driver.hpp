#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "bench/graph_abi.hpp"
#include "bench/shared_library.hpp"

namespace mgemm::cli::bench {

/// The functions of the driver that the bench calls itself.
struct Driver {
  explicit Driver(const std::string& path = "libcuda.so.1");

  SharedLibrary library;
  cuda::fn::Init* init = nullptr;
  cuda::fn::GetErrorName* get_error_name = nullptr;
  cuda::fn::GetErrorString* get_error_string = nullptr;
  cuda::fn::DeviceGet* device_get = nullptr;
  fn::DeviceGetPCIBusId* device_get_pci_bus_id = nullptr;
  cuda::fn::DevicePrimaryCtxRetain* primary_retain = nullptr;
  cuda::fn::DevicePrimaryCtxRelease* primary_release = nullptr;
  cuda::fn::CtxPushCurrent* push_current = nullptr;
  cuda::fn::CtxPopCurrent* pop_current = nullptr;
  cuda::fn::StreamCreate* stream_create = nullptr;
  cuda::fn::StreamDestroy* stream_destroy = nullptr;
  cuda::fn::StreamSynchronize* stream_synchronize = nullptr;
  cuda::fn::EventCreate* event_create = nullptr;
  cuda::fn::EventRecord* event_record = nullptr;
  cuda::fn::EventSynchronize* event_synchronize = nullptr;
  cuda::fn::EventElapsedTime* event_elapsed_time = nullptr;
  cuda::fn::EventDestroy* event_destroy = nullptr;
  cuda::fn::MemsetD32Async* memset_d32_async = nullptr;
  fn::StreamBeginCapture* begin_capture = nullptr;
  fn::StreamEndCapture* end_capture = nullptr;
  fn::GraphInstantiateWithFlags* graph_instantiate = nullptr;
  fn::GraphLaunch* graph_launch = nullptr;
  fn::GraphGetEdges* graph_get_edges = nullptr;  // null in drivers before CUDA 12.3
  fn::GraphExecDestroy* graph_exec_destroy = nullptr;
  fn::GraphDestroy* graph_destroy = nullptr;

  /// Failure with the call, and the driver's name and text of the result, unless that is success.
  void check(cuda::Result result, const char* call) const;
};

/// A device's primary context, which the library uses as well, retained and current on this thread.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, std::int32_t ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  PrimaryContext(PrimaryContext&&) = delete;
  PrimaryContext& operator=(PrimaryContext&&) = delete;

  /// As NVML takes it.
  std::string pci_bus_id() const;

 private:
  const Driver& driver_;
  cuda::Device device_ = 0;
};

/// A stream that no other waits for.
class WorkStream {
 public:
  explicit WorkStream(const Driver& driver);
  ~WorkStream();
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;
  WorkStream(WorkStream&&) = delete;
  WorkStream& operator=(WorkStream&&) = delete;

  const Driver& driver() const { return driver_; }
  cuda::Stream handle() const { return handle_; }
  /// As the library takes it.
  std::uint64_t number() const { return reinterpret_cast<std::uintptr_t>(handle_); }
  void synchronize() const;

 private:
  const Driver& driver_;
  cuda::Stream handle_ = nullptr;
};

class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&&) = delete;
  Event& operator=(Event&&) = delete;

  void record(const WorkStream& stream) const;
  void synchronize() const;
  double milliseconds_since(const Event& start) const;

 private:
  const Driver& driver_;
  cuda::Event handle_ = nullptr;
};

/// What was enqueued on a stream while it was captured, ready to be replayed there.
class Graph {
 public:
  /// Calls `enqueue(i)` for i below `nodes`.
  Graph(const WorkStream& stream, std::int64_t nodes, const std::function<void(std::int64_t)>& enqueue);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::int64_t nodes() const { return nodes_; }
  /// Dependencies that begin before what they depend on has ended, which would flatter one side; -1 unknown.
  std::int64_t programmatic_edges() const { return programmatic_edges_; }
  void replay() const;

 private:
  const WorkStream* stream_;
  GraphExecHandle executable_ = nullptr;
  std::int64_t nodes_ = 0;
  std::int64_t programmatic_edges_ = -1;
};

}  // namespace mgemm::cli::bench
