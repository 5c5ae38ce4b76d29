#include "fake_cuda/fake_driver.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "fake_cuda/ptx_text.hpp"

struct CUctx_st {
  mgemm::cuda::Device device = 0;
  int retains = 0;
  unsigned long long id = 0;
  bool primary = false;
};
struct CUstream_st {
  CUctx_st* context = nullptr;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};
struct CUmod_st {
  mgemm::cuda::Context context = nullptr;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};
struct CUfunc_st {
  std::string name;
  std::vector<mgemm::fake::Parameter> parameters;
  std::map<mgemm::cuda::FunctionAttribute, int> attributes;
};

namespace mgemm::fake {
namespace {

using cuda::Result;

struct Allocation {
  std::size_t bytes = 0;
  cuda::Context context = nullptr;
  unsigned long long id = 0;
};

struct Injection {
  int calls_left = 0;
  Result result = Result::Success;
};

struct State {
  std::vector<DeviceFacts> devices;
  int version = 13000;
  std::map<std::string, int> calls;
  std::multimap<std::string, Injection> injections;
  Result poison = Result::Success;
  std::map<cuda::Device, std::unique_ptr<CUctx_st>> primaries;
  std::vector<std::unique_ptr<CUctx_st>> contexts;
  std::map<cuda::Stream, std::unique_ptr<CUstream_st>> streams;
  std::map<cuda::Event, std::unique_ptr<CUevent_st>> events;
  std::map<cuda::DevicePtr, Allocation> allocations;
  std::map<cuda::Module, std::unique_ptr<CUmod_st>> modules;
  std::vector<Launch> launches;
  std::function<void(const Launch&)> hook;
  std::map<std::string, std::map<cuda::FunctionAttribute, int>> function_attributes;
  std::map<cuda::Stream, cuda::CaptureStatus> capture;
  std::optional<int> occupancy;
};

// Never given twice in a process, as cuCtxGetId promises.
unsigned long long next_id = 1;

std::recursive_mutex mutex;  // guards *state
std::unique_ptr<State> state;
int generation = 0;

/// Per thread, and emptied when the fake is made anew.
struct Stack {
  std::vector<cuda::Context> contexts;
  int generation = -1;
};
thread_local Stack stack;

std::vector<cuda::Context>& current_stack() {
  if (stack.generation != generation) stack = {{}, generation};
  return stack.contexts;
}

cuda::Context current() { return current_stack().empty() ? nullptr : current_stack().back(); }

/// Runs one call of the driver: counts it, fails it if that was asked for, and holds the lock.
template <typename Body>
Result call(const char* name, Body body) {
  const std::lock_guard lock(mutex);
  if (!state) return Result::Deinitialized;
  ++state->calls[name];
  const auto [first, last] = state->injections.equal_range(name);
  for (auto entry = first; entry != last;) {
    if (--entry->second.calls_left > 0) {
      ++entry;
      continue;
    }
    const Result result = entry->second.result;
    state->injections.erase(entry);
    return result;
  }
  return body();
}

/// The same for calls that need a current context.
template <typename Body>
Result context_call(const char* name, Body body) {
  return call(name, [&]() -> Result {
    if (state->poison != Result::Success) return state->poison;
    if (current() == nullptr) return Result::InvalidContext;
    return body();
  });
}

bool is_device(cuda::Device device) { return device >= 0 && device < static_cast<int>(state->devices.size()); }

const DeviceFacts& facts(cuda::Device device) { return state->devices.at(static_cast<std::size_t>(device)); }

int fact(cuda::Device device, cuda::DeviceAttribute attribute) {
  const auto& attributes = facts(device).attributes;
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? 0 : found->second;
}

bool is_context(cuda::Context context) {
  const auto same = [&](const std::unique_ptr<CUctx_st>& known) { return known.get() == context; };
  if (std::ranges::any_of(state->contexts, same)) return true;
  return std::ranges::any_of(state->primaries, [&](const auto& entry) { return same(entry.second); });
}

/// 0 is the legacy default stream of the current context.
bool is_stream(cuda::Stream stream) { return stream == nullptr || state->streams.contains(stream); }

/// The allocation that holds all of [address, address + bytes).
const Allocation* allocation_of(cuda::DevicePtr address, std::size_t bytes, cuda::DevicePtr* start = nullptr) {
  auto next = state->allocations.upper_bound(address);
  if (next == state->allocations.begin()) return nullptr;
  const auto& [base, allocation] = *std::prev(next);
  const std::size_t offset = address - base;
  if (offset > allocation.bytes || bytes > allocation.bytes - offset) return nullptr;
  if (start != nullptr) *start = base;
  return &allocation;
}

bool is_device_range(cuda::DevicePtr address, std::size_t bytes) {
  return bytes == 0 || allocation_of(address, bytes) != nullptr;
}

void* host(cuda::DevicePtr address) { return reinterpret_cast<void*>(address); }

CUfunc_st* function_of(cuda::Function function) {
  for (const auto& [handle, module] : state->modules) {
    for (const auto& known : module->functions) {
      if (known.get() == function) return known.get();
    }
  }
  return nullptr;
}

// ---- Errors and devices ---------------------------------------------------------------------------------------------

struct ErrorName {
  Result result;
  const char* name;
  const char* text;
};

constexpr std::array error_names{
    ErrorName{Result::Success, "CUDA_SUCCESS", "no error"},
    ErrorName{Result::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorName{Result::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorName{Result::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorName{Result::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    ErrorName{Result::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    ErrorName{Result::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorName{Result::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    ErrorName{Result::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorName{Result::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    ErrorName{Result::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

Result error_text(Result error, const char** out, const char* ErrorName::*field) {
  for (const ErrorName& entry : error_names) {
    if (entry.result != error) continue;
    *out = entry.*field;
    return Result::Success;
  }
  *out = nullptr;
  return Result::InvalidValue;
}

Result get_error_name(Result error, const char** name) { return error_text(error, name, &ErrorName::name); }
Result get_error_string(Result error, const char** text) { return error_text(error, text, &ErrorName::text); }

Result init(unsigned) {
  return call("cuInit", [] { return Result::Success; });
}

Result driver_get_version(int* version) {
  return call("cuDriverGetVersion", [&] {
    *version = state->version;
    return Result::Success;
  });
}

Result device_get_count(int* count) {
  return call("cuDeviceGetCount", [&] {
    *count = static_cast<int>(state->devices.size());
    return Result::Success;
  });
}

Result device_get(cuda::Device* device, int ordinal) {
  return call("cuDeviceGet", [&] {
    if (!is_device(ordinal)) return Result::InvalidDevice;
    *device = ordinal;
    return Result::Success;
  });
}

Result device_get_name(char* name, int length, cuda::Device device) {
  return call("cuDeviceGetName", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    if (length <= 0) return Result::InvalidValue;
    const std::string& text = facts(device).name;
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), count);
    name[count] = '\0';
    return Result::Success;
  });
}

Result device_get_attribute(int* value, cuda::DeviceAttribute attribute, cuda::Device device) {
  return call("cuDeviceGetAttribute", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    *value = fact(device, attribute);
    return Result::Success;
  });
}

Result device_total_mem(std::size_t* bytes, cuda::Device device) {
  return call("cuDeviceTotalMem", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    *bytes = facts(device).memory_bytes;
    return Result::Success;
  });
}

Result device_get_uuid(cuda::Uuid* uuid, cuda::Device device) {
  return call("cuDeviceGetUuid", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    std::memcpy(uuid->bytes, facts(device).uuid.data(), sizeof uuid->bytes);
    return Result::Success;
  });
}

// ---- Contexts -------------------------------------------------------------------------------------------------------

std::unique_ptr<CUctx_st> new_context(cuda::Device device, bool primary) {
  auto context = std::make_unique<CUctx_st>();
  context->device = device;
  context->id = next_id++;
  context->primary = primary;
  return context;
}

Result primary_retain(cuda::Context* context, cuda::Device device) {
  return call("cuDevicePrimaryCtxRetain", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    std::unique_ptr<CUctx_st>& primary = state->primaries[device];
    if (!primary) primary = new_context(device, true);
    if (primary->retains++ == 0) primary->id = next_id++;  // active anew
    *context = primary.get();
    return Result::Success;
  });
}

Result primary_release(cuda::Device device) {
  return call("cuDevicePrimaryCtxRelease", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    const auto found = state->primaries.find(device);
    if (found == state->primaries.end() || found->second->retains == 0) return Result::InvalidContext;
    // The object stays, so that a use after the last release is noticed below instead of being a use after free here.
    // Its modules do not survive the last release.
    if (--found->second->retains == 0) {
      std::erase_if(state->modules, [&](const auto& entry) { return entry.second->context == found->second.get(); });
    }
    return Result::Success;
  });
}

Result ctx_get_current(cuda::Context* context) {
  return call("cuCtxGetCurrent", [&] {
    *context = current();
    return Result::Success;
  });
}

Result ctx_push_current(cuda::Context context) {
  return call("cuCtxPushCurrent", [&] {
    if (!is_context(context)) return Result::InvalidContext;
    if (context->primary && context->retains == 0) return Result::ContextIsDestroyed;
    current_stack().push_back(context);
    return Result::Success;
  });
}

Result ctx_pop_current(cuda::Context* context) {
  return call("cuCtxPopCurrent", [&] {
    if (current_stack().empty()) return Result::InvalidContext;
    if (context != nullptr) *context = current();
    current_stack().pop_back();
    return Result::Success;
  });
}

Result ctx_get_device(cuda::Device* device) {
  return context_call("cuCtxGetDevice", [&] {
    *device = current()->device;
    return Result::Success;
  });
}

Result ctx_get_id(cuda::Context context, unsigned long long* id) {
  return call("cuCtxGetId", [&] {
    const cuda::Context which = context != nullptr ? context : current();
    if (which == nullptr || !is_context(which)) return Result::InvalidContext;
    *id = which->id;
    return Result::Success;
  });
}

// ---- Streams and events ---------------------------------------------------------------------------------------------

Result stream_create(cuda::Stream* stream, unsigned) {
  return context_call("cuStreamCreate", [&] {
    auto made = std::make_unique<CUstream_st>();
    made->context = current();
    *stream = made.get();
    state->streams.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result stream_destroy(cuda::Stream stream) {
  return context_call("cuStreamDestroy",
                      [&] { return state->streams.erase(stream) == 1 ? Result::Success : Result::InvalidHandle; });
}

Result stream_synchronize(cuda::Stream stream) {
  return context_call("cuStreamSynchronize",
                      [&] { return is_stream(stream) ? Result::Success : Result::InvalidHandle; });
}

Result stream_wait_event(cuda::Stream stream, cuda::Event event, unsigned) {
  return context_call("cuStreamWaitEvent", [&] {
    return is_stream(stream) && state->events.contains(event) ? Result::Success : Result::InvalidHandle;
  });
}

Result stream_get_ctx(cuda::Stream stream, cuda::Context* context) {
  return context_call("cuStreamGetCtx", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    *context = stream != nullptr ? stream->context : current();
    return Result::Success;
  });
}

Result stream_is_capturing(cuda::Stream stream, cuda::CaptureStatus* status) {
  return context_call("cuStreamIsCapturing", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    const auto found = state->capture.find(stream);
    *status = found == state->capture.end() ? cuda::CaptureStatus::None : found->second;
    return Result::Success;
  });
}

Result event_create(cuda::Event* event, unsigned) {
  return context_call("cuEventCreate", [&] {
    auto made = std::make_unique<CUevent_st>();
    *event = made.get();
    state->events.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result event_record(cuda::Event event, cuda::Stream stream) {
  return context_call("cuEventRecord", [&] {
    if (!is_stream(stream) || !state->events.contains(event)) return Result::InvalidHandle;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return Result::Success;
  });
}

Result event_synchronize(cuda::Event event) {
  return context_call("cuEventSynchronize",
                      [&] { return state->events.contains(event) ? Result::Success : Result::InvalidHandle; });
}

Result event_elapsed_time(float* milliseconds, cuda::Event start, cuda::Event end) {
  return context_call("cuEventElapsedTime", [&] {
    if (!state->events.contains(start) || !state->events.contains(end)) return Result::InvalidHandle;
    if (!start->recorded || !end->recorded) return Result::InvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return Result::Success;
  });
}

Result event_destroy(cuda::Event event) {
  return context_call("cuEventDestroy",
                      [&] { return state->events.erase(event) == 1 ? Result::Success : Result::InvalidHandle; });
}

// ---- Memory ---------------------------------------------------------------------------------------------------------

constexpr std::size_t allocation_alignment = 256;

Result mem_alloc(cuda::DevicePtr* pointer, std::size_t bytes) {
  return context_call("cuMemAlloc", [&] {
    if (bytes == 0) return Result::InvalidValue;
    if (bytes > facts(current()->device).memory_bytes) return Result::OutOfMemory;
    // At exactly its size, so that address checkers see an access past the end.
    void* memory = nullptr;
    if (posix_memalign(&memory, allocation_alignment, bytes) != 0) return Result::OutOfMemory;
    std::memset(memory, 0xa5, bytes);
    *pointer = reinterpret_cast<cuda::DevicePtr>(memory);
    state->allocations[*pointer] = {bytes, current(), next_id++};
    return Result::Success;
  });
}

Result mem_free(cuda::DevicePtr pointer) {
  return context_call("cuMemFree", [&] {
    if (pointer == 0) return Result::Success;
    if (state->allocations.erase(pointer) == 0) return Result::InvalidValue;
    std::free(host(pointer));
    return Result::Success;
  });
}

Result mem_get_info(std::size_t* available, std::size_t* total) {
  return context_call("cuMemGetInfo", [&] {
    std::size_t used = 0;
    for (const auto& [base, allocation] : state->allocations) used += allocation.bytes;
    *total = facts(current()->device).memory_bytes;
    *available = *total - std::min(used, *total);
    return Result::Success;
  });
}

Result copy_host_to_device(cuda::DevicePtr to, const void* from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyHtoDAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(to, bytes)) return Result::InvalidValue;
    std::memmove(host(to), from, bytes);
    return Result::Success;
  });
}

Result copy_device_to_host(void* to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyDtoHAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(from, bytes)) return Result::InvalidValue;
    std::memmove(to, host(from), bytes);
    return Result::Success;
  });
}

Result copy_device_to_device(cuda::DevicePtr to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyDtoDAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(to, bytes) || !is_device_range(from, bytes)) return Result::InvalidValue;
    std::memmove(host(to), host(from), bytes);
    return Result::Success;
  });
}

/// One side of a two-dimensional copy: its first byte, or nullptr if it leaves its allocation.
char* side_2d(cuda::MemoryType type, const void* host_base, cuda::DevicePtr device_base, std::size_t x, std::size_t y,
              std::size_t pitch, const cuda::Memcpy2D& copy) {
  const std::size_t offset = y * pitch + x;
  if (type == cuda::MemoryType::Host) return const_cast<char*>(static_cast<const char*>(host_base)) + offset;
  if (type != cuda::MemoryType::Device && type != cuda::MemoryType::Unified) return nullptr;
  const std::size_t extent = (copy.height - 1) * pitch + copy.width_bytes;
  if (!is_device_range(device_base + offset, extent)) return nullptr;
  return static_cast<char*>(host(device_base + offset));
}

Result copy_2d(const cuda::Memcpy2D* copy, cuda::Stream stream) {
  return context_call("cuMemcpy2DAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (copy->width_bytes == 0 || copy->height == 0) return Result::Success;
    const bool pitches = (copy->src_pitch >= copy->src_x_bytes + copy->width_bytes &&
                          copy->dst_pitch >= copy->dst_x_bytes + copy->width_bytes) ||
                         copy->height == 1;
    char* const from = side_2d(copy->src_type, copy->src_host, copy->src_device, copy->src_x_bytes, copy->src_y,
                               copy->src_pitch, *copy);
    char* const to = side_2d(copy->dst_type, copy->dst_host, copy->dst_device, copy->dst_x_bytes, copy->dst_y,
                             copy->dst_pitch, *copy);
    if (!pitches || from == nullptr || to == nullptr) return Result::InvalidValue;
    for (std::size_t row = 0; row < copy->height; ++row) {
      std::memmove(to + row * copy->dst_pitch, from + row * copy->src_pitch, copy->width_bytes);
    }
    return Result::Success;
  });
}

Result memset_d32(cuda::DevicePtr to, unsigned value, std::size_t count, cuda::Stream stream) {
  return context_call("cuMemsetD32Async", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (to % sizeof value != 0 || !is_device_range(to, count * sizeof value)) return Result::InvalidValue;
    std::fill_n(static_cast<unsigned*>(host(to)), count, value);
    return Result::Success;
  });
}

template <typename T>
Result put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return Result::Success;
}

Result pointer_get_attribute(void* data, cuda::PointerAttribute attribute, cuda::DevicePtr pointer) {
  return context_call("cuPointerGetAttribute", [&] {
    cuda::DevicePtr base = 0;
    const Allocation* const found = allocation_of(pointer, 1, &base);
    if (attribute == cuda::PointerAttribute::Mapped) return put(data, int{found != nullptr});
    if (found == nullptr) return Result::InvalidValue;
    switch (attribute) {
      case cuda::PointerAttribute::Context:
        return put(data, found->context);
      case cuda::PointerAttribute::MemoryType:
        return put(data, cuda::MemoryType::Device);
      case cuda::PointerAttribute::DevicePointer:
        return put(data, pointer);
      case cuda::PointerAttribute::BufferId:
        return put(data, found->id);
      case cuda::PointerAttribute::IsManaged:
        return put(data, 0U);
      case cuda::PointerAttribute::DeviceOrdinal:
        return put(data, found->context->device);
      case cuda::PointerAttribute::RangeStartAddr:
        return put(data, base);
      case cuda::PointerAttribute::RangeSize:
        return put(data, found->bytes);
      default:
        return Result::InvalidValue;
    }
  });
}

// ---- Modules and launches -------------------------------------------------------------------------------------------

Result module_load(cuda::Module* module, const void* image, unsigned, cuda::JitOption*, void**) {
  return context_call("cuModuleLoadDataEx", [&] {
    const std::vector<Entry> entries = entries_in(static_cast<const char*>(image));
    if (entries.empty()) return Result::InvalidImage;
    auto made = std::make_unique<CUmod_st>();
    made->context = current();
    for (const Entry& entry : entries) {
      auto function = std::make_unique<CUfunc_st>();
      function->name = entry.name;
      function->parameters = entry.parameters;
      function->attributes = {{cuda::FunctionAttribute::NumRegs, 32},
                              {cuda::FunctionAttribute::MaxThreadsPerBlock, 1024},
                              {cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, 49152}};
      for (const auto& [attribute, value] : state->function_attributes[entry.name]) {
        function->attributes[attribute] = value;
      }
      made->functions.push_back(std::move(function));
    }
    *module = made.get();
    state->modules.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result module_unload(cuda::Module module) {
  return context_call("cuModuleUnload",
                      [&] { return state->modules.erase(module) == 1 ? Result::Success : Result::InvalidHandle; });
}

Result module_get_function(cuda::Function* function, cuda::Module module, const char* name) {
  return context_call("cuModuleGetFunction", [&] {
    const auto found = state->modules.find(module);
    if (found == state->modules.end()) return Result::InvalidHandle;
    for (const auto& known : found->second->functions) {
      if (known->name != name) continue;
      *function = known.get();
      return Result::Success;
    }
    return Result::NotFound;
  });
}

Result func_get_attribute(int* value, cuda::FunctionAttribute attribute, cuda::Function function) {
  return context_call("cuFuncGetAttribute", [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr) return Result::InvalidHandle;
    *value = known->attributes[attribute];
    return Result::Success;
  });
}

Result func_set_attribute(cuda::Function function, cuda::FunctionAttribute attribute, int value) {
  return context_call("cuFuncSetAttribute", [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr) return Result::InvalidHandle;
    const int optin = fact(current()->device, cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin);
    const bool shared = attribute == cuda::FunctionAttribute::MaxDynamicSharedSizeBytes;
    if (!shared && attribute != cuda::FunctionAttribute::PreferredSharedMemoryCarveout) return Result::InvalidValue;
    if (shared && (value < 0 || value > optin - known->attributes[cuda::FunctionAttribute::SharedSizeBytes])) {
      return Result::InvalidValue;
    }
    known->attributes[attribute] = value;
    return Result::Success;
  });
}

std::vector<std::byte> packed(const CUfunc_st& function, void** parameters) {
  std::vector<std::byte> bytes;
  for (std::size_t index = 0; index < function.parameters.size(); ++index) {
    const Parameter& parameter = function.parameters[index];
    bytes.resize((bytes.size() + parameter.alignment - 1) / parameter.alignment * parameter.alignment);
    const auto* const from = static_cast<const std::byte*>(parameters[index]);
    bytes.insert(bytes.end(), from, from + parameter.bytes);
  }
  return bytes;
}

std::vector<std::byte> from_extra(void** extra) {
  const std::byte* from = nullptr;
  std::size_t size = 0;
  for (; reinterpret_cast<std::uintptr_t>(extra[0]) != cuda::launch_param_end; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (key == cuda::launch_param_buffer_pointer) from = static_cast<const std::byte*>(extra[1]);
    if (key == cuda::launch_param_buffer_size) size = *static_cast<const std::size_t*>(extra[1]);
  }
  return {from, from + size};
}

bool fits(const std::array<unsigned, 3>& grid, const std::array<unsigned, 3>& block) {
  const auto zero = [](unsigned extent) { return extent == 0; };
  if (std::ranges::any_of(grid, zero) || std::ranges::any_of(block, zero)) return false;
  const cuda::Device device = current()->device;
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  return grid[0] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimX)) &&
         grid[1] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimY)) &&
         grid[2] <= static_cast<unsigned>(fact(device, cuda::DeviceAttribute::MaxGridDimZ)) &&
         threads <= static_cast<std::uint64_t>(fact(device, cuda::DeviceAttribute::MaxThreadsPerBlock));
}

Result launch_kernel(cuda::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda::Stream stream, void** parameters,
                     void** extra) {
  Launch launch;
  std::function<void(const Launch&)> hook;
  const Result result = context_call("cuLaunchKernel", [&] {
    CUfunc_st* const known = function_of(function);
    if (known == nullptr || !is_stream(stream)) return Result::InvalidHandle;
    if (stream != nullptr && stream->context != current()) return Result::InvalidHandle;
    launch = {known->name, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, current(), {}};
    const int most_shared = known->attributes[cuda::FunctionAttribute::MaxDynamicSharedSizeBytes];
    if (!fits(launch.grid, launch.block) || shared_bytes > static_cast<unsigned>(most_shared)) {
      return Result::InvalidValue;
    }
    if ((parameters == nullptr) == (extra == nullptr) && !known->parameters.empty()) return Result::InvalidValue;
    if (extra != nullptr) launch.arguments = from_extra(extra);
    if (parameters != nullptr) launch.arguments = packed(*known, parameters);
    state->launches.push_back(launch);
    hook = state->hook;
    return Result::Success;
  });
  if (result == Result::Success && hook) hook(launch);
  return result;
}

Result occupancy(int* blocks, cuda::Function function, int threads, std::size_t shared_bytes) {
  return context_call("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    if (function_of(function) == nullptr) return Result::InvalidHandle;
    if (threads <= 0) return Result::InvalidValue;
    const cuda::Device device = current()->device;
    const int by_threads = fact(device, cuda::DeviceAttribute::MaxThreadsPerMultiprocessor) / threads;
    const std::size_t reserved =
        static_cast<std::size_t>(fact(device, cuda::DeviceAttribute::ReservedSharedMemoryPerBlock));
    const std::size_t all =
        static_cast<std::size_t>(fact(device, cuda::DeviceAttribute::MaxSharedMemoryPerMultiprocessor));
    const int by_shared = static_cast<int>(all / std::max<std::size_t>(shared_bytes + reserved, 1));
    const int most = fact(device, cuda::DeviceAttribute::MaxBlocksPerMultiprocessor);
    *blocks = state->occupancy.value_or(std::min({by_threads, by_shared, most}));
    return Result::Success;
  });
}

const DriverTable fake_table{
    .cuInit = init,
    .cuDriverGetVersion = driver_get_version,
    .cuGetErrorName = get_error_name,
    .cuGetErrorString = get_error_string,
    .cuDeviceGetCount = device_get_count,
    .cuDeviceGet = device_get,
    .cuDeviceGetName = device_get_name,
    .cuDeviceGetAttribute = device_get_attribute,
    .cuDeviceTotalMem = device_total_mem,
    .cuDeviceGetUuid = device_get_uuid,
    .cuDevicePrimaryCtxRetain = primary_retain,
    .cuDevicePrimaryCtxRelease = primary_release,
    .cuCtxGetCurrent = ctx_get_current,
    .cuCtxPushCurrent = ctx_push_current,
    .cuCtxPopCurrent = ctx_pop_current,
    .cuCtxGetDevice = ctx_get_device,
    .cuCtxGetId = ctx_get_id,
    .cuStreamCreate = stream_create,
    .cuStreamDestroy = stream_destroy,
    .cuStreamSynchronize = stream_synchronize,
    .cuStreamWaitEvent = stream_wait_event,
    .cuStreamGetCtx = stream_get_ctx,
    .cuStreamIsCapturing = stream_is_capturing,
    .cuEventCreate = event_create,
    .cuEventRecord = event_record,
    .cuEventSynchronize = event_synchronize,
    .cuEventElapsedTime = event_elapsed_time,
    .cuEventDestroy = event_destroy,
    .cuMemAlloc = mem_alloc,
    .cuMemFree = mem_free,
    .cuMemGetInfo = mem_get_info,
    .cuMemcpyHtoDAsync = copy_host_to_device,
    .cuMemcpyDtoHAsync = copy_device_to_host,
    .cuMemcpyDtoDAsync = copy_device_to_device,
    .cuMemcpy2DAsync = copy_2d,
    .cuMemsetD32Async = memset_d32,
    .cuPointerGetAttribute = pointer_get_attribute,
    .cuModuleLoadDataEx = module_load,
    .cuModuleUnload = module_unload,
    .cuModuleGetFunction = module_get_function,
    .cuFuncGetAttribute = func_get_attribute,
    .cuFuncSetAttribute = func_set_attribute,
    .cuLaunchKernel = launch_kernel,
    .cuOccupancyMaxActiveBlocksPerMultiprocessor = occupancy,
};

}  // namespace

Driver::Driver(std::vector<DeviceFacts> devices) {
  const std::lock_guard lock(mutex);
  if (state) throw std::logic_error("only one fake driver at a time");
  state = std::make_unique<State>();
  state->devices = std::move(devices);
  ++generation;
  substitute_driver(&fake_table);
}

Driver::~Driver() {
  const std::lock_guard lock(mutex);
  substitute_driver(nullptr);
  for (const auto& [base, allocation] : state->allocations) std::free(host(base));
  state.reset();
}

const DriverTable& Driver::table() { return fake_table; }

void Driver::set_version(int version) {
  const std::lock_guard lock(mutex);
  state->version = version;
}

int Driver::calls(const std::string& name) const {
  const std::lock_guard lock(mutex);
  const auto found = state->calls.find(name);
  return found == state->calls.end() ? 0 : found->second;
}

void Driver::reset_calls() {
  const std::lock_guard lock(mutex);
  state->calls.clear();
}

LiveObjects Driver::live() const {
  const std::lock_guard lock(mutex);
  LiveObjects live;
  for (const auto& [device, primary] : state->primaries) live.primary_retains += primary->retains;
  live.streams = static_cast<int>(state->streams.size());
  live.events = static_cast<int>(state->events.size());
  live.allocations = static_cast<int>(state->allocations.size());
  live.modules = static_cast<int>(state->modules.size());
  return live;
}

void Driver::fail_nth(const std::string& name, int n, cuda::Result result) {
  const std::lock_guard lock(mutex);
  state->injections.insert({name, {n, result}});
}

void Driver::poison(cuda::Result result) {
  const std::lock_guard lock(mutex);
  state->poison = result;
}

std::vector<Launch> Driver::launches() const {
  const std::lock_guard lock(mutex);
  return state->launches;
}

void Driver::clear_launches() {
  const std::lock_guard lock(mutex);
  state->launches.clear();
}

void Driver::on_launch(std::function<void(const Launch&)> hook) {
  const std::lock_guard lock(mutex);
  state->hook = std::move(hook);
}

void Driver::set_function_attribute(const std::string& kernel, cuda::FunctionAttribute attribute, int value) {
  const std::lock_guard lock(mutex);
  state->function_attributes[kernel][attribute] = value;
}

void Driver::set_occupancy(std::optional<int> blocks) {
  const std::lock_guard lock(mutex);
  state->occupancy = blocks;
}

void Driver::set_capture_status(cuda::Stream stream, cuda::CaptureStatus status) {
  const std::lock_guard lock(mutex);
  state->capture[stream] = status;
}

cuda::Context Driver::make_context(cuda::Device device) {
  const std::lock_guard lock(mutex);
  return state->contexts.emplace_back(new_context(device, false)).get();
}

std::vector<cuda::Context> Driver::context_stack() {
  const std::lock_guard lock(mutex);
  return current_stack();
}

}  // namespace mgemm::fake
