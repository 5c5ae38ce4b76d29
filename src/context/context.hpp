#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/handle_table.hpp"
#include "context/plan_cache.hpp"
#include "device/cuda_device.hpp"
#include "memory/registry.hpp"

namespace mgemm {

/// One device, one current stream, its plans and allocations.
struct Context {
  std::unique_ptr<Device> device;
  CudaDevice* cuda = nullptr;  // the same device if it is a GPU
  Stream own_stream = 0;
  Stream stream = 0;          // the current one
  Stream checked_stream = 0;  // the last one that was found to belong to the context's device
  std::string cache_directory;
  int threads = 0;
  bool lost = false;  // a sticky fault was seen; nothing but destroying works
  AllocationRegistry memory;
  PlanCache plans;
};

using ContextTable = HandleTable<Context, HandleKind::context>;
ContextTable& contexts();

/// `options` have been checked for size and reserved fields.
std::unique_ptr<Context> make_context(const mgemm_context_options& options);

/// Waits for the context's own stream and frees its allocations. Failures are logged: there is nobody to act on them.
void close(Context& context) noexcept;

/// Throws MGEMM_STATE if the current stream is being captured into a graph.
void require_no_capture(Context& context, const char* what);

/// The plan of a problem, kept for the next time. Throws MGEMM_CAPTURE_MISS if it would have to be made during a
/// capture.
std::shared_ptr<const Plan> plan_for(Context& context, const Problem& problem, std::int32_t alignment);

}  // namespace mgemm
