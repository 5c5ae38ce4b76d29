// A CUDA driver over host memory for tests: device pointers are host addresses, every call is complete when it returns.
#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/driver_table.hpp"

namespace mgemm::fake {

/// What a device says of itself; an H200 unless changed.
struct DeviceFacts {
  std::string name = "NVIDIA H200";
  std::size_t memory_bytes = std::size_t{141} << 30U;
  std::array<char, 16> uuid{'f', 'a', 'k', 'e', '-', 'h', '2', '0', '0'};
  std::map<cuda::DeviceAttribute, int> attributes{
      {cuda::DeviceAttribute::MaxThreadsPerBlock, 1024},
      {cuda::DeviceAttribute::MaxGridDimX, 2147483647},
      {cuda::DeviceAttribute::MaxGridDimY, 65535},
      {cuda::DeviceAttribute::MaxGridDimZ, 65535},
      {cuda::DeviceAttribute::MaxSharedMemoryPerBlock, 49152},
      {cuda::DeviceAttribute::WarpSize, 32},
      {cuda::DeviceAttribute::MaxRegistersPerBlock, 65536},
      {cuda::DeviceAttribute::ClockRate, 1980000},
      {cuda::DeviceAttribute::MultiprocessorCount, 132},
      {cuda::DeviceAttribute::L2CacheSize, 62914560},
      {cuda::DeviceAttribute::MaxThreadsPerMultiprocessor, 2048},
      {cuda::DeviceAttribute::UnifiedAddressing, 1},
      {cuda::DeviceAttribute::ComputeCapabilityMajor, 9},
      {cuda::DeviceAttribute::ComputeCapabilityMinor, 0},
      {cuda::DeviceAttribute::MaxSharedMemoryPerMultiprocessor, 233472},
      {cuda::DeviceAttribute::MaxRegistersPerMultiprocessor, 65536},
      {cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin, 232448},
      {cuda::DeviceAttribute::MaxBlocksPerMultiprocessor, 32},
      {cuda::DeviceAttribute::ReservedSharedMemoryPerBlock, 1024},
      {cuda::DeviceAttribute::TensorMapAccessSupported, 1},
  };
};

/// One cuLaunchKernel. With `kernelParams` the argument bytes are those of the .param declarations of the entry, each
/// at its own alignment, as the driver lays them out.
struct Launch {
  std::string kernel;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared_bytes = 0;
  cuda::Stream stream = nullptr;
  cuda::Context context = nullptr;
  std::vector<std::byte> arguments;
};

/// What exists now; all zero once everything has been given back.
struct LiveObjects {
  int primary_retains = 0;
  int streams = 0;
  int events = 0;
  int allocations = 0;
  int modules = 0;
  friend bool operator==(const LiveObjects&, const LiveObjects&) = default;
};

/// Installs the fake driver for its lifetime, in a fresh state. One at a time.
class Driver {
 public:
  explicit Driver(std::vector<DeviceFacts> devices = {DeviceFacts{}});
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  Driver(Driver&&) = delete;
  Driver& operator=(Driver&&) = delete;

  static const DriverTable& table();

  /// What cuDriverGetVersion answers; 13000 at first.
  void set_version(int version);

  /// How often a function, for example "cuMemAlloc", was called.
  int calls(const std::string& name) const;
  void reset_calls();
  /// The functions called since the last time this was asked, in order.
  std::vector<std::string> take_sequence();
  LiveObjects live() const;

  /// The n-th call from now (1: the next) of a function does nothing but return `result`.
  void fail_nth(const std::string& name, int n, cuda::Result result);
  /// The same for the n-th call of whatever function.
  void fail_nth_of_all(int n, cuda::Result result);
  /// The function that fail_nth_of_all() made fail, "" if it has not come to that call.
  std::string failed_call() const;
  /// As after a kernel fault: every later call that touches a context returns `result`.
  void poison(cuda::Result result);

  std::vector<Launch> launches() const;
  void clear_launches();
  /// Called at each launch, before cuLaunchKernel returns and without a lock, so that it may compute the kernel's
  /// result.
  void on_launch(std::function<void(const Launch&)> hook);

  /// What cuFuncGetAttribute says of kernels of this name. Registers are 32 and the other values 0 otherwise.
  void set_function_attribute(const std::string& kernel, cuda::FunctionAttribute attribute, int value);
  /// What the driver's compiler says into the info log of those who give it one. Of PTX only: machine code is done.
  void set_compiler_log(std::string log);
  /// What the occupancy query answers; otherwise it is computed from threads and shared memory.
  void set_occupancy(std::optional<int> blocks);
  void set_capture_status(cuda::Stream stream, cuda::CaptureStatus status);

  /// A context as the caller's own cuCtxCreate would make it. Current nowhere; lives as long as this object.
  cuda::Context make_context(cuda::Device device);
  /// The calling thread's stack of contexts, the current one last.
  static std::vector<cuda::Context> context_stack();
};

}  // namespace mgemm::fake
