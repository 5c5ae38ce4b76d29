#pragma once
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/cuda_abi.hpp"
#include "base/error.hpp"
#include "device/driver_build.hpp"

namespace mgemm {

/// The driver functions we call, at fixed versions, whatever header or driver is newer.
struct DriverTable {
  cuda::fn::Init* cuInit = nullptr;
  cuda::fn::DriverGetVersion* cuDriverGetVersion = nullptr;
  cuda::fn::GetErrorName* cuGetErrorName = nullptr;
  cuda::fn::GetErrorString* cuGetErrorString = nullptr;

  cuda::fn::DeviceGetCount* cuDeviceGetCount = nullptr;
  cuda::fn::DeviceGet* cuDeviceGet = nullptr;
  cuda::fn::DeviceGetName* cuDeviceGetName = nullptr;
  cuda::fn::DeviceGetAttribute* cuDeviceGetAttribute = nullptr;
  cuda::fn::DeviceTotalMem* cuDeviceTotalMem = nullptr;
  cuda::fn::DeviceGetUuid* cuDeviceGetUuid = nullptr;
  cuda::fn::DevicePrimaryCtxRetain* cuDevicePrimaryCtxRetain = nullptr;
  cuda::fn::DevicePrimaryCtxRelease* cuDevicePrimaryCtxRelease = nullptr;

  cuda::fn::CtxGetCurrent* cuCtxGetCurrent = nullptr;
  cuda::fn::CtxPushCurrent* cuCtxPushCurrent = nullptr;
  cuda::fn::CtxPopCurrent* cuCtxPopCurrent = nullptr;
  cuda::fn::CtxGetDevice* cuCtxGetDevice = nullptr;
  cuda::fn::CtxGetId* cuCtxGetId = nullptr;

  cuda::fn::StreamCreate* cuStreamCreate = nullptr;
  cuda::fn::StreamDestroy* cuStreamDestroy = nullptr;
  cuda::fn::StreamSynchronize* cuStreamSynchronize = nullptr;
  cuda::fn::StreamWaitEvent* cuStreamWaitEvent = nullptr;
  cuda::fn::StreamGetCtx* cuStreamGetCtx = nullptr;
  cuda::fn::StreamIsCapturing* cuStreamIsCapturing = nullptr;

  cuda::fn::EventCreate* cuEventCreate = nullptr;
  cuda::fn::EventRecord* cuEventRecord = nullptr;
  cuda::fn::EventSynchronize* cuEventSynchronize = nullptr;
  cuda::fn::EventElapsedTime* cuEventElapsedTime = nullptr;
  cuda::fn::EventDestroy* cuEventDestroy = nullptr;

  cuda::fn::MemAlloc* cuMemAlloc = nullptr;
  cuda::fn::MemFree* cuMemFree = nullptr;
  cuda::fn::MemGetInfo* cuMemGetInfo = nullptr;
  cuda::fn::MemcpyHtoDAsync* cuMemcpyHtoDAsync = nullptr;
  cuda::fn::MemcpyDtoHAsync* cuMemcpyDtoHAsync = nullptr;
  cuda::fn::MemcpyDtoDAsync* cuMemcpyDtoDAsync = nullptr;
  cuda::fn::Memcpy2DAsync* cuMemcpy2DAsync = nullptr;
  cuda::fn::MemsetD32Async* cuMemsetD32Async = nullptr;
  cuda::fn::PointerGetAttribute* cuPointerGetAttribute = nullptr;

  cuda::fn::ModuleLoadDataEx* cuModuleLoadDataEx = nullptr;
  cuda::fn::ModuleUnload* cuModuleUnload = nullptr;
  cuda::fn::ModuleGetFunction* cuModuleGetFunction = nullptr;
  cuda::fn::FuncGetAttribute* cuFuncGetAttribute = nullptr;
  cuda::fn::FuncSetAttribute* cuFuncSetAttribute = nullptr;
  cuda::fn::LaunchKernel* cuLaunchKernel = nullptr;
  cuda::fn::LaunchKernelEx* cuLaunchKernelEx = nullptr;
  cuda::fn::TensorMapEncodeTiled* cuTensorMapEncodeTiled = nullptr;
  cuda::fn::OccupancyMaxActiveBlocksPerMultiprocessor* cuOccupancyMaxActiveBlocksPerMultiprocessor = nullptr;
};

/// The oldest driver that is supported: CUDA 12.4, which driver 550 brought.
constexpr int oldest_driver_version = 12040;

/// The driver of this machine, loaded and initialised (cuInit) by the first call, or nullptr. Any thread.
const DriverTable* find_driver();

/// The same, or an Error: MGEMM_NO_DEVICE (no driver, or it sees no device), MGEMM_UNSUPPORTED (too old), MGEMM_DRIVER
/// (it is there and fails), MGEMM_FORKED (it was initialised by a parent process).
const DriverTable& driver();

/// The status of the error that driver() would throw; MGEMM_OK if it would not.
Status driver_status();

/// Why find_driver() gives nullptr; "" if it does not.
std::string driver_reason();

/// The CUDA version the driver supports, 1000 * major + 10 * minor; 0 without a usable driver.
int driver_version();

/// Which build it is; empty for a substitute and without a usable driver.
DriverBuild driver_build();

/// For tests: a table to use instead of the machine's driver; nullptr restores it.
void substitute_driver(const DriverTable* table);

[[noreturn]] void fail_driver(cuda::Result result, const char* call, const std::string& detail);

/// Throws unless the call succeeded: MGEMM_OUT_OF_MEMORY, MGEMM_DEVICE_LOST for faults of earlier launches, else
/// MGEMM_DRIVER. `call` is the function's name.
inline void check(cuda::Result result, const char* call) {
  if (result != cuda::Result::Success) fail_driver(result, call, {});
}

/// The same, with what was asked for, as in check(r, "cuMemAlloc", "{} bytes", n).
template <typename... Args>
void check(cuda::Result result, const char* call, fmt::format_string<Args...> format, Args&&... args) {
  if (result != cuda::Result::Success) fail_driver(result, call, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mgemm
