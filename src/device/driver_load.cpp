#include "device/driver_load.hpp"

#include <dlfcn.h>

#include <array>

#include "base/fork.hpp"

namespace mgemm {
namespace {

struct Symbol {
  const char* name;
  int version;  // the CUDA version that introduced this signature
  void (*assign)(DriverTable&, void*);
};

template <auto Member>
void assign(DriverTable& table, void* pointer) {
  table.*Member = reinterpret_cast<std::remove_reference_t<decltype(table.*Member)>>(pointer);
}

constexpr std::array symbols{
    Symbol{"cuInit", 2000, assign<&DriverTable::cuInit>},
    Symbol{"cuDriverGetVersion", 2020, assign<&DriverTable::cuDriverGetVersion>},
    Symbol{"cuGetErrorName", 6000, assign<&DriverTable::cuGetErrorName>},
    Symbol{"cuGetErrorString", 6000, assign<&DriverTable::cuGetErrorString>},
    Symbol{"cuDeviceGetCount", 2000, assign<&DriverTable::cuDeviceGetCount>},
    Symbol{"cuDeviceGet", 2000, assign<&DriverTable::cuDeviceGet>},
    Symbol{"cuDeviceGetName", 2000, assign<&DriverTable::cuDeviceGetName>},
    Symbol{"cuDeviceGetAttribute", 2000, assign<&DriverTable::cuDeviceGetAttribute>},
    Symbol{"cuDeviceTotalMem", 3020, assign<&DriverTable::cuDeviceTotalMem>},
    Symbol{"cuDeviceGetUuid", 11040, assign<&DriverTable::cuDeviceGetUuid>},
    Symbol{"cuDevicePrimaryCtxRetain", 7000, assign<&DriverTable::cuDevicePrimaryCtxRetain>},
    Symbol{"cuDevicePrimaryCtxRelease", 11000, assign<&DriverTable::cuDevicePrimaryCtxRelease>},
    Symbol{"cuCtxGetCurrent", 4000, assign<&DriverTable::cuCtxGetCurrent>},
    Symbol{"cuCtxPushCurrent", 4000, assign<&DriverTable::cuCtxPushCurrent>},
    Symbol{"cuCtxPopCurrent", 4000, assign<&DriverTable::cuCtxPopCurrent>},
    Symbol{"cuCtxGetDevice", 2000, assign<&DriverTable::cuCtxGetDevice>},
    Symbol{"cuCtxGetId", 12000, assign<&DriverTable::cuCtxGetId>},
    Symbol{"cuStreamCreate", 2000, assign<&DriverTable::cuStreamCreate>},
    Symbol{"cuStreamDestroy", 4000, assign<&DriverTable::cuStreamDestroy>},
    Symbol{"cuStreamSynchronize", 2000, assign<&DriverTable::cuStreamSynchronize>},
    Symbol{"cuStreamWaitEvent", 3020, assign<&DriverTable::cuStreamWaitEvent>},
    Symbol{"cuStreamGetCtx", 9020, assign<&DriverTable::cuStreamGetCtx>},
    Symbol{"cuStreamIsCapturing", 10000, assign<&DriverTable::cuStreamIsCapturing>},
    Symbol{"cuEventCreate", 2000, assign<&DriverTable::cuEventCreate>},
    Symbol{"cuEventRecord", 2000, assign<&DriverTable::cuEventRecord>},
    Symbol{"cuEventSynchronize", 2000, assign<&DriverTable::cuEventSynchronize>},
    Symbol{"cuEventElapsedTime", 2000, assign<&DriverTable::cuEventElapsedTime>},
    Symbol{"cuEventDestroy", 4000, assign<&DriverTable::cuEventDestroy>},
    Symbol{"cuMemAlloc", 3020, assign<&DriverTable::cuMemAlloc>},
    Symbol{"cuMemFree", 3020, assign<&DriverTable::cuMemFree>},
    Symbol{"cuMemGetInfo", 3020, assign<&DriverTable::cuMemGetInfo>},
    Symbol{"cuMemcpyHtoDAsync", 3020, assign<&DriverTable::cuMemcpyHtoDAsync>},
    Symbol{"cuMemcpyDtoHAsync", 3020, assign<&DriverTable::cuMemcpyDtoHAsync>},
    Symbol{"cuMemcpyDtoDAsync", 3020, assign<&DriverTable::cuMemcpyDtoDAsync>},
    Symbol{"cuMemcpy2DAsync", 3020, assign<&DriverTable::cuMemcpy2DAsync>},
    Symbol{"cuMemsetD32Async", 3020, assign<&DriverTable::cuMemsetD32Async>},
    Symbol{"cuPointerGetAttribute", 4000, assign<&DriverTable::cuPointerGetAttribute>},
    Symbol{"cuModuleLoadDataEx", 2010, assign<&DriverTable::cuModuleLoadDataEx>},
    Symbol{"cuModuleUnload", 2000, assign<&DriverTable::cuModuleUnload>},
    Symbol{"cuModuleGetFunction", 2000, assign<&DriverTable::cuModuleGetFunction>},
    Symbol{"cuFuncGetAttribute", 2020, assign<&DriverTable::cuFuncGetAttribute>},
    Symbol{"cuFuncSetAttribute", 9000, assign<&DriverTable::cuFuncSetAttribute>},
    Symbol{"cuLaunchKernel", 4000, assign<&DriverTable::cuLaunchKernel>},
    Symbol{"cuLaunchKernelEx", 11060, assign<&DriverTable::cuLaunchKernelEx>},
    Symbol{"cuTensorMapEncodeTiled", 12000, assign<&DriverTable::cuTensorMapEncodeTiled>},
    Symbol{"cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,
           assign<&DriverTable::cuOccupancyMaxActiveBlocksPerMultiprocessor>},
};

// A member without a row would stay null.
static_assert(sizeof(DriverTable) == symbols.size() * sizeof(void*));

LoadedDriver failed(Status status, std::string reason, int code = 0) {
  LoadedDriver result;
  result.status = status;
  result.reason = std::move(reason);
  result.code = code;
  return result;
}

LoadedDriver too_old(int version) {
  return failed(MGEMM_UNSUPPORTED,
                fmt::format("the driver supports CUDA {}.{}; {}.{} (driver 550) or newer is needed", version / 1000,
                            version % 1000 / 10, oldest_driver_version / 1000, oldest_driver_version % 1000 / 10));
}

/// What the toolkit installs to link against where there is no driver.
LoadedDriver stub(const char* library) {
  return failed(MGEMM_NO_DEVICE, fmt::format("{} is the toolkit's stub, not a driver", library),
                static_cast<int>(cuda::Result::StubLibrary));
}

LoadedDriver init_failed(const DriverTable& table, const char* library, cuda::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  table.cuGetErrorName(result, &name);
  table.cuGetErrorString(result, &text);
  const bool absent = result == cuda::Result::NoDevice || result == cuda::Result::StubLibrary;
  return failed(absent ? MGEMM_NO_DEVICE : MGEMM_DRIVER,
                fmt::format("cuInit of {} failed: {} ({}): {}", library, name != nullptr ? name : "unknown error",
                            static_cast<int>(result), text != nullptr ? text : "no text"),
                static_cast<int>(result));
}

}  // namespace

LoadedDriver load_driver(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // never closed
  if (handle == nullptr) {
    const char* const why = dlerror();
    return failed(MGEMM_NO_DEVICE, fmt::format("{} could not be opened: {}", library, why != nullptr ? why : "?"));
  }

  // By its exported name, because drivers too old for cuGetProcAddress_v2 must still be able to say their version.
  auto* const get_version = reinterpret_cast<cuda::fn::DriverGetVersion*>(dlsym(handle, "cuDriverGetVersion"));
  if (get_version == nullptr) {
    return failed(MGEMM_NO_DEVICE, fmt::format("{} is no CUDA driver: it lacks cuDriverGetVersion", library));
  }
  int version = 0;
  const cuda::Result version_result = get_version(&version);
  if (version_result == cuda::Result::StubLibrary) return stub(library);
  if (version_result != cuda::Result::Success) {
    return failed(MGEMM_DRIVER,
                  fmt::format("cuDriverGetVersion of {} failed ({})", library, static_cast<int>(version_result)),
                  static_cast<int>(version_result));
  }
  if (version < oldest_driver_version) return too_old(version);

  auto* const get_address = reinterpret_cast<cuda::fn::GetProcAddress*>(dlsym(handle, "cuGetProcAddress_v2"));
  if (get_address == nullptr) {
    return failed(MGEMM_NO_DEVICE, fmt::format("{} lacks cuGetProcAddress_v2", library));
  }

  LoadedDriver loaded;
  for (const Symbol& symbol : symbols) {
    void* pointer = nullptr;
    const cuda::Result result =
        get_address(symbol.name, &pointer, symbol.version, cuda::proc_address_legacy_stream, nullptr);
    if (result == cuda::Result::StubLibrary) return stub(library);
    if (result != cuda::Result::Success || pointer == nullptr) {
      return failed(MGEMM_NO_DEVICE, fmt::format("{} lacks {} of CUDA {}.{}", library, symbol.name,
                                                 symbol.version / 1000, symbol.version % 1000 / 10));
    }
    symbol.assign(loaded.table, pointer);
  }

  loaded.fork_generation = fork_generation();
  if (const cuda::Result result = loaded.table.cuInit(0); result != cuda::Result::Success) {
    return init_failed(loaded.table, library, result);
  }
  loaded.status = MGEMM_OK;
  loaded.version = version;
  loaded.build = build_of_driver(reinterpret_cast<const void*>(get_version));
  return loaded;
}

bool inherited(const LoadedDriver& loaded) {
  return loaded.status == MGEMM_OK && loaded.fork_generation != fork_generation();
}

}  // namespace mgemm
