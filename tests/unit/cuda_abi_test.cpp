// Our declarations against the toolkit's headers, where they are installed. Catches: a wrong value, a parameter too
// many or of another size, a field out of place - each of which would call the driver with garbage.
#include "base/cuda_abi.hpp"

#include "support/test.hpp"

#ifdef MGEMM_HAVE_CUDA_HEADERS

#include <cuda.h>
#include <cudaTypedefs.h>
#include <nvrtc.h>

#include <cstddef>
#include <type_traits>

namespace {

namespace cuda = mgemm::cuda;
namespace fn = mgemm::cuda::fn;
namespace nv = mgemm::nvrtc_abi;

template <typename T>
constexpr bool is_word = std::is_integral_v<T> || std::is_enum_v<T>;

/// True if values of A and B travel in the same registers with the same meaning.
template <typename A, typename B>
constexpr bool same_value() {
  if constexpr (is_word<A> && is_word<B>) {
    return sizeof(A) == sizeof(B);
  } else {
    return std::is_same_v<A, B>;
  }
}

template <typename A, typename B>
struct SameLayout {
  static constexpr bool value = same_value<A, B>();
};

/// Pointees may be handles' tags or structs, which are compared by field below.
template <typename A, typename B>
constexpr bool same_pointee() {
  if constexpr (std::is_const_v<A> != std::is_const_v<B>) {
    return false;
  } else if constexpr (std::is_class_v<std::remove_cv_t<A>> && std::is_class_v<std::remove_cv_t<B>>) {
    return true;
  } else {
    return SameLayout<std::remove_cv_t<A>, std::remove_cv_t<B>>::value;
  }
}

template <typename A, typename B>
struct SameLayout<A*, B*> {
  static constexpr bool value = same_pointee<A, B>();
};

template <typename RA, typename... A, typename RB, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameLayout<RA(A...), RB(B...)> {
  static constexpr bool value = SameLayout<RA, RB>::value && (SameLayout<A, B>::value && ...);
};

template <typename Ours, typename Theirs>
constexpr bool same = SameLayout<Ours*, Theirs>::value;

// The comparison itself must see differences.
static_assert(!same<int(int), int (*)(int, int)>);
static_assert(!same<int(int), int (*)(long)>);
static_assert(!same<int(float), int (*)(int)>);
static_assert(!same<int(int*), int (*)(const int*)>);
static_assert(!same<int(void**), int (*)(void*)>);

// The driver's functions, at the versions that driver_load.cpp asks for.
static_assert(same<fn::GetProcAddress, PFN_cuGetProcAddress_v12000>);
static_assert(same<fn::Init, PFN_cuInit_v2000>);
static_assert(same<fn::DriverGetVersion, PFN_cuDriverGetVersion_v2020>);
static_assert(same<fn::GetErrorName, PFN_cuGetErrorName_v6000>);
static_assert(same<fn::GetErrorString, PFN_cuGetErrorString_v6000>);
static_assert(same<fn::DeviceGetCount, PFN_cuDeviceGetCount_v2000>);
static_assert(same<fn::DeviceGet, PFN_cuDeviceGet_v2000>);
static_assert(same<fn::DeviceGetName, PFN_cuDeviceGetName_v2000>);
static_assert(same<fn::DeviceGetAttribute, PFN_cuDeviceGetAttribute_v2000>);
static_assert(same<fn::DeviceTotalMem, PFN_cuDeviceTotalMem_v3020>);
static_assert(same<fn::DeviceGetUuid, PFN_cuDeviceGetUuid_v11040>);
static_assert(same<fn::DevicePrimaryCtxRetain, PFN_cuDevicePrimaryCtxRetain_v7000>);
static_assert(same<fn::DevicePrimaryCtxRelease, PFN_cuDevicePrimaryCtxRelease_v11000>);
static_assert(same<fn::CtxGetCurrent, PFN_cuCtxGetCurrent_v4000>);
static_assert(same<fn::CtxPushCurrent, PFN_cuCtxPushCurrent_v4000>);
static_assert(same<fn::CtxPopCurrent, PFN_cuCtxPopCurrent_v4000>);
static_assert(same<fn::CtxGetDevice, PFN_cuCtxGetDevice_v2000>);
static_assert(same<fn::CtxGetId, PFN_cuCtxGetId_v12000>);
static_assert(same<fn::StreamCreate, PFN_cuStreamCreate_v2000>);
static_assert(same<fn::StreamDestroy, PFN_cuStreamDestroy_v4000>);
static_assert(same<fn::StreamSynchronize, PFN_cuStreamSynchronize_v2000>);
static_assert(same<fn::StreamWaitEvent, PFN_cuStreamWaitEvent_v3020>);
static_assert(same<fn::StreamGetCtx, PFN_cuStreamGetCtx_v9020>);
static_assert(same<fn::StreamIsCapturing, PFN_cuStreamIsCapturing_v10000>);
static_assert(same<fn::EventCreate, PFN_cuEventCreate_v2000>);
static_assert(same<fn::EventRecord, PFN_cuEventRecord_v2000>);
static_assert(same<fn::EventSynchronize, PFN_cuEventSynchronize_v2000>);
static_assert(same<fn::EventElapsedTime, PFN_cuEventElapsedTime_v2000>);
static_assert(same<fn::EventDestroy, PFN_cuEventDestroy_v4000>);
static_assert(same<fn::MemAlloc, PFN_cuMemAlloc_v3020>);
static_assert(same<fn::MemFree, PFN_cuMemFree_v3020>);
static_assert(same<fn::MemGetInfo, PFN_cuMemGetInfo_v3020>);
static_assert(same<fn::MemcpyHtoDAsync, PFN_cuMemcpyHtoDAsync_v3020>);
static_assert(same<fn::MemcpyDtoHAsync, PFN_cuMemcpyDtoHAsync_v3020>);
static_assert(same<fn::MemcpyDtoDAsync, PFN_cuMemcpyDtoDAsync_v3020>);
static_assert(same<fn::Memcpy2DAsync, PFN_cuMemcpy2DAsync_v3020>);
static_assert(same<fn::MemsetD32Async, PFN_cuMemsetD32Async_v3020>);
static_assert(same<fn::PointerGetAttribute, PFN_cuPointerGetAttribute_v4000>);
static_assert(same<fn::ModuleLoadDataEx, PFN_cuModuleLoadDataEx_v2010>);
static_assert(same<fn::ModuleUnload, PFN_cuModuleUnload_v2000>);
static_assert(same<fn::ModuleGetFunction, PFN_cuModuleGetFunction_v2000>);
static_assert(same<fn::FuncGetAttribute, PFN_cuFuncGetAttribute_v2020>);
static_assert(same<fn::FuncSetAttribute, PFN_cuFuncSetAttribute_v9000>);
static_assert(same<fn::TensorMapEncodeTiled, PFN_cuTensorMapEncodeTiled_v12000>);
static_assert(same<fn::LaunchKernel, PFN_cuLaunchKernel_v4000>);
static_assert(same<fn::LaunchKernelEx, PFN_cuLaunchKernelEx_v11060>);
static_assert(
    same<fn::OccupancyMaxActiveBlocksPerMultiprocessor, PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050>);

// NVRTC's.
static_assert(same<nv::fn::Version, decltype(&nvrtcVersion)>);
static_assert(same<nv::fn::GetErrorString, decltype(&nvrtcGetErrorString)>);
static_assert(same<nv::fn::CreateProgram, decltype(&nvrtcCreateProgram)>);
static_assert(same<nv::fn::DestroyProgram, decltype(&nvrtcDestroyProgram)>);
static_assert(same<nv::fn::CompileProgram, decltype(&nvrtcCompileProgram)>);
static_assert(same<nv::fn::GetPTXSize, decltype(&nvrtcGetPTXSize)>);
static_assert(same<nv::fn::GetPTX, decltype(&nvrtcGetPTX)>);
static_assert(same<nv::fn::GetCUBINSize, decltype(&nvrtcGetCUBINSize)>);
static_assert(same<nv::fn::GetCUBIN, decltype(&nvrtcGetCUBIN)>);
static_assert(same<nv::fn::GetProgramLogSize, decltype(&nvrtcGetProgramLogSize)>);
static_assert(same<nv::fn::GetProgramLog, decltype(&nvrtcGetProgramLog)>);
static_assert(same<nv::fn::GetNumSupportedArchs, decltype(&nvrtcGetNumSupportedArchs)>);
static_assert(same<nv::fn::GetSupportedArchs, decltype(&nvrtcGetSupportedArchs)>);

// Types.
static_assert(std::is_same_v<cuda::Device, CUdevice> && std::is_same_v<cuda::DevicePtr, CUdeviceptr>);
static_assert(std::is_same_v<cuda::Context, CUcontext> && std::is_same_v<cuda::Stream, CUstream>);
static_assert(std::is_same_v<cuda::Event, CUevent> && std::is_same_v<cuda::Module, CUmodule>);
static_assert(std::is_same_v<cuda::Function, CUfunction> && std::is_same_v<cuda::Array, CUarray>);
static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid) && alignof(cuda::Uuid) == alignof(CUuuid));

using Ours = cuda::Memcpy2D;
using Theirs = CUDA_MEMCPY2D_v2;
static_assert(sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs));
static_assert(offsetof(Ours, src_x_bytes) == offsetof(Theirs, srcXInBytes));
static_assert(offsetof(Ours, src_y) == offsetof(Theirs, srcY));
static_assert(offsetof(Ours, src_type) == offsetof(Theirs, srcMemoryType));
static_assert(offsetof(Ours, src_host) == offsetof(Theirs, srcHost));
static_assert(offsetof(Ours, src_device) == offsetof(Theirs, srcDevice));
static_assert(offsetof(Ours, src_array) == offsetof(Theirs, srcArray));
static_assert(offsetof(Ours, src_pitch) == offsetof(Theirs, srcPitch));
static_assert(offsetof(Ours, dst_x_bytes) == offsetof(Theirs, dstXInBytes));
static_assert(offsetof(Ours, dst_y) == offsetof(Theirs, dstY));
static_assert(offsetof(Ours, dst_type) == offsetof(Theirs, dstMemoryType));
static_assert(offsetof(Ours, dst_host) == offsetof(Theirs, dstHost));
static_assert(offsetof(Ours, dst_device) == offsetof(Theirs, dstDevice));
static_assert(offsetof(Ours, dst_array) == offsetof(Theirs, dstArray));
static_assert(offsetof(Ours, dst_pitch) == offsetof(Theirs, dstPitch));
static_assert(offsetof(Ours, width_bytes) == offsetof(Theirs, WidthInBytes));
static_assert(offsetof(Ours, height) == offsetof(Theirs, Height));

// Values.
template <typename A, typename B>
constexpr bool equal(A ours, B theirs) {
  return sizeof(A) == sizeof(B) && static_cast<long long>(ours) == static_cast<long long>(theirs);
}

using R = cuda::Result;
static_assert(equal(R::Success, CUDA_SUCCESS));
static_assert(equal(R::InvalidValue, CUDA_ERROR_INVALID_VALUE));
static_assert(equal(R::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(equal(R::NotInitialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(equal(R::Deinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(equal(R::StubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(equal(R::NoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(equal(R::InvalidDevice, CUDA_ERROR_INVALID_DEVICE));
static_assert(equal(R::InvalidImage, CUDA_ERROR_INVALID_IMAGE));
static_assert(equal(R::InvalidContext, CUDA_ERROR_INVALID_CONTEXT));
static_assert(equal(R::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(equal(R::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE));
static_assert(equal(R::InvalidPtx, CUDA_ERROR_INVALID_PTX));
static_assert(equal(R::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(equal(R::InvalidHandle, CUDA_ERROR_INVALID_HANDLE));
static_assert(equal(R::NotFound, CUDA_ERROR_NOT_FOUND));
static_assert(equal(R::NotReady, CUDA_ERROR_NOT_READY));
static_assert(equal(R::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(equal(R::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(equal(R::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(equal(R::PrimaryContextActive, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE));
static_assert(equal(R::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(equal(R::Assert, CUDA_ERROR_ASSERT));
static_assert(equal(R::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(equal(R::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
static_assert(equal(R::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(equal(R::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE));
static_assert(equal(R::InvalidPc, CUDA_ERROR_INVALID_PC));
static_assert(equal(R::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(equal(R::SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(equal(R::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
static_assert(equal(R::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
static_assert(equal(R::StreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
static_assert(equal(R::StreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));
static_assert(equal(R::Unknown, CUDA_ERROR_UNKNOWN));

using D = cuda::DeviceAttribute;
static_assert(equal(D::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(D::MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(equal(D::MaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
static_assert(equal(D::MaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(equal(D::MaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(equal(D::WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(equal(D::MaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
static_assert(equal(D::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(equal(D::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(equal(D::Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED));
static_assert(equal(D::ComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(equal(D::PciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(equal(D::PciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(equal(D::MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(equal(D::GlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(equal(D::L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(equal(D::MaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(equal(D::UnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
static_assert(equal(D::PciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(equal(D::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(equal(D::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(D::MaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
static_assert(equal(D::MaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(equal(D::MaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(equal(D::MaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
static_assert(equal(D::ReservedSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
static_assert(equal(D::TensorMapAccessSupported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED));

static_assert(equal(cuda::TensorMapDataType::Uint16, CU_TENSOR_MAP_DATA_TYPE_UINT16));
static_assert(equal(cuda::TensorMapDataType::Float16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
static_assert(equal(cuda::TensorMapDataType::Float32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
static_assert(equal(cuda::TensorMapDataType::BFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
static_assert(equal(cuda::TensorMapDataType::TFloat32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32));
static_assert(equal(cuda::TensorMapInterleave::None, CU_TENSOR_MAP_INTERLEAVE_NONE));
static_assert(equal(cuda::TensorMapSwizzle::None, CU_TENSOR_MAP_SWIZZLE_NONE));
static_assert(equal(cuda::TensorMapSwizzle::Bytes32, CU_TENSOR_MAP_SWIZZLE_32B));
static_assert(equal(cuda::TensorMapSwizzle::Bytes64, CU_TENSOR_MAP_SWIZZLE_64B));
static_assert(equal(cuda::TensorMapSwizzle::Bytes128, CU_TENSOR_MAP_SWIZZLE_128B));
static_assert(equal(cuda::TensorMapL2Promotion::None, CU_TENSOR_MAP_L2_PROMOTION_NONE));
static_assert(equal(cuda::TensorMapL2Promotion::Bytes128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
static_assert(equal(cuda::TensorMapL2Promotion::Bytes256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
static_assert(equal(cuda::TensorMapFill::Zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
static_assert(sizeof(cuda::TensorMap) == sizeof(CUtensorMap) && alignof(cuda::TensorMap) >= alignof(CUtensorMap));

using F = cuda::FunctionAttribute;
static_assert(equal(F::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(equal(F::SharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(equal(F::ConstSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
static_assert(equal(F::LocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
static_assert(equal(F::NumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(equal(F::PtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION));
static_assert(equal(F::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
static_assert(equal(F::MaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(equal(F::PreferredSharedMemoryCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));

using P = cuda::PointerAttribute;
static_assert(equal(P::Context, CU_POINTER_ATTRIBUTE_CONTEXT));
static_assert(equal(P::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(equal(P::DevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER));
static_assert(equal(P::HostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER));
static_assert(equal(P::BufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID));
static_assert(equal(P::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(equal(P::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(equal(P::RangeStartAddr, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
static_assert(equal(P::RangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE));
static_assert(equal(P::Mapped, CU_POINTER_ATTRIBUTE_MAPPED));

static_assert(equal(cuda::MemoryType::Host, CU_MEMORYTYPE_HOST));
static_assert(equal(cuda::MemoryType::Device, CU_MEMORYTYPE_DEVICE));
static_assert(equal(cuda::MemoryType::Array, CU_MEMORYTYPE_ARRAY));
static_assert(equal(cuda::MemoryType::Unified, CU_MEMORYTYPE_UNIFIED));

using J = cuda::JitOption;
static_assert(equal(J::MaxRegisters, CU_JIT_MAX_REGISTERS));
static_assert(equal(J::InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER));
static_assert(equal(J::InfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES));
static_assert(equal(J::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER));
static_assert(equal(J::ErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(equal(J::OptimizationLevel, CU_JIT_OPTIMIZATION_LEVEL));
static_assert(equal(J::LogVerbose, CU_JIT_LOG_VERBOSE));

static_assert(equal(cuda::CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(equal(cuda::CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
static_assert(equal(cuda::CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(equal(cuda::ProcAddressQuery::Success, CU_GET_PROC_ADDRESS_SUCCESS));
static_assert(equal(cuda::ProcAddressQuery::SymbolNotFound, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
static_assert(equal(cuda::ProcAddressQuery::VersionNotSufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
static_assert(cuda::proc_address_legacy_stream == CU_GET_PROC_ADDRESS_LEGACY_STREAM);
static_assert(equal(cuda::stream_default, CU_STREAM_DEFAULT));
static_assert(equal(cuda::stream_non_blocking, CU_STREAM_NON_BLOCKING));
static_assert(equal(cuda::event_default, CU_EVENT_DEFAULT));
static_assert(equal(cuda::event_disable_timing, CU_EVENT_DISABLE_TIMING));
static_assert(cuda::launch_param_end == CU_LAUNCH_PARAM_END_AS_INT);
static_assert(cuda::launch_param_buffer_pointer == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
static_assert(cuda::launch_param_buffer_size == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

using N = nv::Result;
static_assert(equal(N::Success, NVRTC_SUCCESS) && equal(N::OutOfMemory, NVRTC_ERROR_OUT_OF_MEMORY));
static_assert(equal(N::ProgramCreationFailure, NVRTC_ERROR_PROGRAM_CREATION_FAILURE));
static_assert(equal(N::InvalidInput, NVRTC_ERROR_INVALID_INPUT));
static_assert(equal(N::InvalidProgram, NVRTC_ERROR_INVALID_PROGRAM));
static_assert(equal(N::InvalidOption, NVRTC_ERROR_INVALID_OPTION));
static_assert(equal(N::Compilation, NVRTC_ERROR_COMPILATION));
static_assert(equal(N::BuiltinOperationFailure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
static_assert(equal(N::InternalError, NVRTC_ERROR_INTERNAL_ERROR));

}  // namespace

TEST_CASE("declarations match the toolkit's headers") { SUCCEED("compared when this file was compiled"); }

#else

TEST_CASE("declarations match the toolkit's headers") { MGEMM_SKIP("no CUDA headers were found by CMake"); }

#endif
