#include "fake_cuda/fake_driver.hpp"

#include <utility>

#include "fake_cuda/fake_calls.hpp"
#include "fake_cuda/fake_state.hpp"

namespace mgemm::fake {

using namespace calls;

namespace {

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
    .cuLaunchKernelEx = launch_kernel_ex,
    .cuTensorMapEncodeTiled = tensor_map_encode,
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

std::vector<std::string> Driver::take_sequence() {
  const std::lock_guard lock(mutex);
  return std::exchange(state->sequence, {});
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

void Driver::fail_nth_of_all(int n, cuda::Result result) {
  const std::lock_guard lock(mutex);
  state->injection = {n, result};
  state->failed_call.clear();
}

std::string Driver::failed_call() const {
  const std::lock_guard lock(mutex);
  return state->failed_call;
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

void Driver::set_compiler_log(std::string log) {
  const std::lock_guard lock(mutex);
  state->compiler_log = std::move(log);
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
