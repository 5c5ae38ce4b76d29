// The one place that declares what we use of the CUDA driver and of NVRTC. Values and signatures are those of the
// toolkit's headers, which are not needed to build; tests/unit/cuda_abi_test.cpp compares both where they are
// installed.
#pragma once
#include <cstddef>
#include <cstdint>

// The toolkit's own tags, so that a caller's CUcontext or CUstream is the same type as ours.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUarray_st;

namespace mgemm::cuda {

// ---- Driver: enumerations -------------------------------------------------------------------------------------------

/// CUresult: the values that are handled by name. Any other value may come from the driver too.
enum class Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  StubLibrary = 34,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  PrimaryContextActive = 708,
  ContextIsDestroyed = 709,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  NotSupported = 801,
  SystemDriverMismatch = 803,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  StreamCaptureIsolation = 905,
  StreamCaptureImplicit = 906,
  InvalidClusterSize = 912,
  Unknown = 999,
};

enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  ComputeMode = 20,
  PciBusId = 33,
  PciDeviceId = 34,
  MemoryClockRate = 36,
  GlobalMemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  UnifiedAddressing = 41,
  PciDomainId = 50,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  MaxSharedMemoryPerBlockOptin = 97,
  MaxBlocksPerMultiprocessor = 106,
  ReservedSharedMemoryPerBlock = 111,
  TensorMapAccessSupported = 127,
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  ConstSizeBytes = 2,
  LocalSizeBytes = 3,
  NumRegs = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  MaxDynamicSharedSizeBytes = 8,
  PreferredSharedMemoryCarveout = 9,
};

enum class PointerAttribute : int {
  Context = 1,
  MemoryType = 2,
  DevicePointer = 3,
  HostPointer = 4,
  BufferId = 7,
  IsManaged = 8,
  DeviceOrdinal = 9,
  RangeStartAddr = 11,
  RangeSize = 12,
  Mapped = 13,
};

enum class MemoryType : int { Host = 1, Device = 2, Array = 3, Unified = 4 };

enum class JitOption : int {
  MaxRegisters = 0,
  InfoLogBuffer = 3,
  InfoLogBufferSizeBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBufferSizeBytes = 6,
  OptimizationLevel = 7,
  LogVerbose = 12,
};

enum class TensorMapDataType : int { Uint16 = 1, Float16 = 6, Float32 = 7, BFloat16 = 9, TFloat32 = 11 };
enum class TensorMapInterleave : int { None = 0 };
enum class TensorMapSwizzle : int { None = 0, Bytes32 = 1, Bytes64 = 2, Bytes128 = 3 };
enum class TensorMapL2Promotion : int { None = 0, Bytes128 = 2, Bytes256 = 3 };
enum class TensorMapFill : int { Zeros = 0 };

enum class LaunchAttributeId : int { ClusterDimension = 4 };

enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };

enum class ProcAddressQuery : int { Success = 0, SymbolNotFound = 1, VersionNotSufficient = 2 };

constexpr std::uint64_t proc_address_legacy_stream = 1;  // CU_GET_PROC_ADDRESS_LEGACY_STREAM

constexpr unsigned stream_default = 0;
constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_default = 0;
constexpr unsigned event_disable_timing = 2;

// The keys of cuLaunchKernel's `extra`, which are pointers there.
constexpr std::uintptr_t launch_param_end = 0;
constexpr std::uintptr_t launch_param_buffer_pointer = 1;
constexpr std::uintptr_t launch_param_buffer_size = 2;

// ---- Driver: handles and structures ---------------------------------------------------------------------------------

using Device = int;
using DevicePtr = unsigned long long;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Array = CUarray_st*;

struct Uuid {
  char bytes[16];
};

/// CUtensorMap; as widely aligned as any version wants it
struct alignas(128) TensorMap {
  std::uint64_t words[16];
};

/// CUlaunchAttribute, with the values of its union that are used
struct LaunchAttribute {
  LaunchAttributeId id{};
  char padding[4] = {};
  union {
    char bytes[64];
    unsigned cluster[3];
  } value{};
};

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

/// CUDA_MEMCPY2D_v2
struct Memcpy2D {
  std::size_t src_x_bytes = 0;
  std::size_t src_y = 0;
  MemoryType src_type = MemoryType::Device;
  const void* src_host = nullptr;
  DevicePtr src_device = 0;
  Array src_array = nullptr;
  std::size_t src_pitch = 0;
  std::size_t dst_x_bytes = 0;
  std::size_t dst_y = 0;
  MemoryType dst_type = MemoryType::Device;
  void* dst_host = nullptr;
  DevicePtr dst_device = 0;
  Array dst_array = nullptr;
  std::size_t dst_pitch = 0;
  std::size_t width_bytes = 0;
  std::size_t height = 0;
};

// ---- Driver: functions ----------------------------------------------------------------------------------------------

/// Without the prefix "cu", because the toolkit's header makes macros of many of those names.
namespace fn {

using GetProcAddress = Result(const char* symbol, void** pointer, int version, std::uint64_t flags,
                              ProcAddressQuery* found);
using Init = Result(unsigned flags);
using DriverGetVersion = Result(int* version);
using GetErrorName = Result(Result error, const char** text);
using GetErrorString = Result(Result error, const char** text);

using DeviceGetCount = Result(int* count);
using DeviceGet = Result(Device* device, int ordinal);
using DeviceGetName = Result(char* name, int length, Device device);
using DeviceGetAttribute = Result(int* value, DeviceAttribute attribute, Device device);
using DeviceTotalMem = Result(std::size_t* bytes, Device device);
using DeviceGetUuid = Result(Uuid* uuid, Device device);
using DevicePrimaryCtxRetain = Result(Context* context, Device device);
using DevicePrimaryCtxRelease = Result(Device device);

using CtxGetCurrent = Result(Context* context);
using CtxPushCurrent = Result(Context context);
using CtxPopCurrent = Result(Context* context);
using CtxGetDevice = Result(Device* device);
using CtxGetId = Result(Context context, unsigned long long* id);

using StreamCreate = Result(Stream* stream, unsigned flags);
using StreamDestroy = Result(Stream stream);
using StreamSynchronize = Result(Stream stream);
using StreamWaitEvent = Result(Stream stream, Event event, unsigned flags);
using StreamGetCtx = Result(Stream stream, Context* context);
using StreamIsCapturing = Result(Stream stream, CaptureStatus* status);

using EventCreate = Result(Event* event, unsigned flags);
using EventRecord = Result(Event event, Stream stream);
using EventSynchronize = Result(Event event);
using EventElapsedTime = Result(float* milliseconds, Event start, Event end);
using EventDestroy = Result(Event event);

using MemAlloc = Result(DevicePtr* pointer, std::size_t bytes);
using MemFree = Result(DevicePtr pointer);
using MemGetInfo = Result(std::size_t* available, std::size_t* total);
using MemcpyHtoDAsync = Result(DevicePtr to, const void* from, std::size_t bytes, Stream stream);
using MemcpyDtoHAsync = Result(void* to, DevicePtr from, std::size_t bytes, Stream stream);
using MemcpyDtoDAsync = Result(DevicePtr to, DevicePtr from, std::size_t bytes, Stream stream);
using Memcpy2DAsync = Result(const Memcpy2D* copy, Stream stream);
using MemsetD32Async = Result(DevicePtr to, unsigned value, std::size_t count, Stream stream);
using PointerGetAttribute = Result(void* data, PointerAttribute attribute, DevicePtr pointer);

using ModuleLoadDataEx = Result(Module* module, const void* image, unsigned count, JitOption* options, void** values);
using ModuleUnload = Result(Module module);
using ModuleGetFunction = Result(Function* function, Module module, const char* name);
using FuncGetAttribute = Result(int* value, FunctionAttribute attribute, Function function);
using FuncSetAttribute = Result(Function function, FunctionAttribute attribute, int value);
using LaunchKernel = Result(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters,
                            void** extra);
using LaunchKernelEx = Result(const LaunchConfig* config, Function function, void** parameters, void** extra);
using TensorMapEncodeTiled = Result(TensorMap* map, TensorMapDataType type, std::uint32_t rank, void* address,
                                    const std::uint64_t* extents, const std::uint64_t* strides,
                                    const std::uint32_t* box, const std::uint32_t* element_strides,
                                    TensorMapInterleave interleave, TensorMapSwizzle swizzle,
                                    TensorMapL2Promotion promotion, TensorMapFill fill);
using OccupancyMaxActiveBlocksPerMultiprocessor = Result(int* blocks, Function function, int threads,
                                                         std::size_t shared_bytes);

}  // namespace fn
}  // namespace mgemm::cuda

namespace mgemm::nvrtc_abi {

// ---- NVRTC ----------------------------------------------------------------------------------------------------------

struct ProgramTag;  // the toolkit's tag is a reserved name
using Program = ProgramTag*;

enum class Result : int {
  Success = 0,
  OutOfMemory = 1,
  ProgramCreationFailure = 2,
  InvalidInput = 3,
  InvalidProgram = 4,
  InvalidOption = 5,
  Compilation = 6,
  BuiltinOperationFailure = 7,
  InternalError = 11,
};

namespace fn {

using Version = Result(int* major, int* minor);
using GetErrorString = const char*(Result result);
using CreateProgram = Result(Program* program, const char* source, const char* name, int header_count,
                             const char* const* headers, const char* const* include_names);
using DestroyProgram = Result(Program* program);
using CompileProgram = Result(Program program, int option_count, const char* const* options);
using GetPTXSize = Result(Program program, std::size_t* size);
using GetPTX = Result(Program program, char* ptx);
using GetCUBINSize = Result(Program program, std::size_t* size);
using GetCUBIN = Result(Program program, char* code);
using GetProgramLogSize = Result(Program program, std::size_t* size);
using GetProgramLog = Result(Program program, char* log);
using GetNumSupportedArchs = Result(int* count);
using GetSupportedArchs = Result(int* archs);

}  // namespace fn
}  // namespace mgemm::nvrtc_abi
