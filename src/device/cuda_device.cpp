#include "device/cuda_device.hpp"

#include <limits>

#include "base/give_back.hpp"
#include "catalogue/launch_counts.hpp"
#include "device/current_context.hpp"

namespace mgemm {
namespace {

cuda::Stream handle(Stream stream) { return reinterpret_cast<cuda::Stream>(stream); }

/// An event for the span of one call.
class Event {
 public:
  explicit Event(const DriverTable& driver) : driver_(driver) {
    check(driver.cuEventCreate(&event_, cuda::event_disable_timing), "cuEventCreate");
  }
  ~Event() {
    give_back("an event", [&] { check(driver_.cuEventDestroy(event_), "cuEventDestroy"); });
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&&) = delete;
  Event& operator=(Event&&) = delete;
  cuda::Event get() const { return event_; }

 private:
  const DriverTable& driver_;
  cuda::Event event_ = nullptr;
};

void check_ordinal(const DriverTable& driver, int ordinal) {
  int count = 0;
  check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    fail(MGEMM_NO_DEVICE, "options.ordinal is {}; there {} {} CUDA device{}", ordinal, count == 1 ? "is" : "are", count,
         count == 1 ? "" : "s");
  }
}

}  // namespace

CudaDevice::CudaDevice(const DriverTable& driver, int ordinal, cuda::Context context)
    : driver_(driver), context_(context) {
  check_ordinal(driver, ordinal);
  facts_ = read_facts(driver, ordinal);
  check(driver.cuDeviceGet(&device_, ordinal), "cuDeviceGet", "device {}", ordinal);
  constexpr int oldest_major = 8;
  if (facts_.compute_major < oldest_major) {
    fail(MGEMM_UNSUPPORTED, "device {} ({}) has compute capability {}.{}; 8.0 or later is needed", ordinal, facts_.name,
         facts_.compute_major, facts_.compute_minor);
  }
  if (context_ == nullptr) {
    check(driver.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain", "device {}", ordinal);
    retained_ = true;
  }
  try {
    const CurrentContext current(driver_, context_);
    cuda::Device actual = 0;
    check(driver.cuCtxGetDevice(&actual), "cuCtxGetDevice");
    if (actual != device_) {
      fail(MGEMM_WRONG_CONTEXT, "options.cu_context belongs to device {}, but options.ordinal is {}", actual, ordinal);
    }
    unsigned long long id = 0;
    check(driver.cuCtxGetId(context_, &id), "cuCtxGetId");
    context_id_ = id;
  } catch (...) {
    if (retained_) release_primary();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  if (abandoned_) return;
  if (own_stream_ != nullptr) {
    give_back("a context's stream", [&] {
      const CurrentContext current(driver_, context_);
      check(driver_.cuStreamDestroy(own_stream_), "cuStreamDestroy");
    });
  }
  if (retained_) release_primary();
}

void CudaDevice::release_primary() noexcept {
  give_back("a primary CUDA context",
            [&] { check(driver_.cuDevicePrimaryCtxRelease(device_), "cuDevicePrimaryCtxRelease"); });
}

Stream CudaDevice::make_own_stream() {
  const CurrentContext current(driver_, context_);
  check(driver_.cuStreamCreate(&own_stream_, cuda::stream_non_blocking), "cuStreamCreate");
  return reinterpret_cast<Stream>(own_stream_);
}

void CudaDevice::check_stream(Stream stream) {
  constexpr Stream last_special = 2;  // the legacy and the per-thread default stream belong to whatever is current
  if (stream <= last_special) return;
  const CurrentContext current(driver_, context_);
  cuda::Context owner = nullptr;
  check(driver_.cuStreamGetCtx(handle(stream), &owner), "cuStreamGetCtx", "stream {:#x}", stream);
  if (owner != context_) {
    fail(MGEMM_WRONG_CONTEXT, "stream {:#x} belongs to another CUDA context than this context's on device {}", stream,
         facts_.ordinal);
  }
}

bool CudaDevice::is_capturing(Stream stream) {
  const CurrentContext current(driver_, context_);
  cuda::CaptureStatus status{};
  const cuda::Result result = driver_.cuStreamIsCapturing(handle(stream), &status);
  // The legacy stream answers so while another stream of the context is being captured.
  if (result == cuda::Result::StreamCaptureImplicit) return true;
  check(result, "cuStreamIsCapturing");
  return status != cuda::CaptureStatus::None;
}

void CudaDevice::wait(Stream waiting, Stream awaited) {
  check_stream(awaited);
  const CurrentContext current(driver_, context_);
  const Event event(driver_);
  check(driver_.cuEventRecord(event.get(), handle(awaited)), "cuEventRecord", "stream {:#x}", awaited);
  check(driver_.cuStreamWaitEvent(handle(waiting), event.get(), 0), "cuStreamWaitEvent", "stream {:#x}", waiting);
}

void CudaDevice::synchronize(Stream stream) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuStreamSynchronize(handle(stream)), "cuStreamSynchronize");
}

void CudaDevice::check_memory(const char* name, std::uint64_t address) {
  const CurrentContext current(driver_, context_);
  cuda::MemoryType type{};
  const cuda::Result known = driver_.cuPointerGetAttribute(&type, cuda::PointerAttribute::MemoryType, address);
  if (known == cuda::Result::InvalidValue) {
    invalid("{} is {:#x}, which is no memory that the CUDA driver knows", name, address);
  }
  check(known, "cuPointerGetAttribute", "{} at {:#x}", name, address);
  if (type != cuda::MemoryType::Device) return;  // pinned host memory, which every device reaches
  unsigned managed = 0;
  check(driver_.cuPointerGetAttribute(&managed, cuda::PointerAttribute::IsManaged, address), "cuPointerGetAttribute");
  if (managed != 0) return;
  int ordinal = 0;
  check(driver_.cuPointerGetAttribute(&ordinal, cuda::PointerAttribute::DeviceOrdinal, address),
        "cuPointerGetAttribute");
  if (ordinal != facts_.ordinal) {
    fail(MGEMM_WRONG_CONTEXT, "{} at {:#x} lies on device {}, the context is on device {}", name, address, ordinal,
         facts_.ordinal);
  }
}

std::uint64_t CudaDevice::allocate(std::int64_t bytes) {
  const CurrentContext current(driver_, context_);
  cuda::DevicePtr address = 0;
  check(driver_.cuMemAlloc(&address, static_cast<std::size_t>(bytes)), "cuMemAlloc", "{} bytes", bytes);
  return address;
}

void CudaDevice::release(std::uint64_t address) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuMemFree(address), "cuMemFree", "address {:#x}", address);
}

void CudaDevice::upload(std::uint64_t destination, const void* source, std::int64_t bytes, Stream stream) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuMemcpyHtoDAsync(destination, source, static_cast<std::size_t>(bytes), handle(stream)),
        "cuMemcpyHtoDAsync", "{} bytes to {:#x}", bytes, destination);
  synchronize(stream);
}

void CudaDevice::download(void* destination, std::uint64_t source, std::int64_t bytes, Stream stream) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuMemcpyDtoHAsync(destination, source, static_cast<std::size_t>(bytes), handle(stream)),
        "cuMemcpyDtoHAsync", "{} bytes from {:#x}", bytes, source);
  synchronize(stream);
}

void CudaDevice::download_elements(void* destination, std::uint64_t source, std::int64_t size, std::int64_t stride,
                                   std::int64_t count, Stream stream) {
  if (stride == size || count == 1) return download(destination, source, count * size, stream);
  const CurrentContext current(driver_, context_);
  // Pitches are limited to 2^31 - 1 (CU_DEVICE_ATTRIBUTE_MAX_PITCH); beyond that, one by one.
  const bool pitched = stride <= std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows = pitched ? count : 1;
  for (std::int64_t first = 0; first < count; first += rows) {
    cuda::Memcpy2D request;
    request.src_device = source + static_cast<std::uint64_t>(first * stride);
    request.src_pitch = static_cast<std::size_t>(pitched ? stride : size);
    request.dst_type = cuda::MemoryType::Host;
    request.dst_host = static_cast<std::byte*>(destination) + first * size;
    request.dst_pitch = static_cast<std::size_t>(size);
    request.width_bytes = static_cast<std::size_t>(size);
    request.height = static_cast<std::size_t>(rows);
    check(driver_.cuMemcpy2DAsync(&request, handle(stream)), "cuMemcpy2DAsync", "{} elements from {:#x}", count,
          source);
  }
  synchronize(stream);
}

void CudaDevice::copy(std::uint64_t destination, std::uint64_t source, std::int64_t bytes, Stream stream) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuMemcpyDtoDAsync(destination, source, static_cast<std::size_t>(bytes), handle(stream)),
        "cuMemcpyDtoDAsync", "{} bytes from {:#x} to {:#x}", bytes, source, destination);
}

void CudaDevice::fill_words(std::uint64_t destination, std::uint32_t word, std::int64_t count, Stream stream) {
  const CurrentContext current(driver_, context_);
  check(driver_.cuMemsetD32Async(destination, word, static_cast<std::size_t>(count), handle(stream)),
        "cuMemsetD32Async", "{} words at {:#x}", count, destination);
}

void CudaDevice::enqueue(const Work& work, Stream stream) {
  const auto* const launch = std::get_if<KernelLaunch>(&work);
  if (launch == nullptr) return;
  const CurrentContext current(driver_, context_);
  // The kernel has one parameter, the structure in `arguments`; the driver copies as many bytes as the kernel declares.
  void* parameter = const_cast<std::byte*>(launch->arguments.data());
  auto* const function = static_cast<cuda::Function>(launch->function);
  const auto& [grid_x, grid_y, grid_z] = launch->grid;
  const auto& [block_x, block_y, block_z] = launch->block;
  if (launch->cluster == 1) {
    check(driver_.cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, launch->shared_bytes,
                                 handle(stream), &parameter, nullptr),
          "cuLaunchKernel", "{}", launch->symbol);
  } else {
    cuda::LaunchAttribute cluster{.id = cuda::LaunchAttributeId::ClusterDimension, .value = {.cluster = {1, 1, 1}}};
    cluster.value.cluster[0] = launch->cluster;
    const cuda::LaunchConfig config{grid_x,         grid_y,   grid_z, block_x, block_y, block_z, launch->shared_bytes,
                                    handle(stream), &cluster, 1};
    check(driver_.cuLaunchKernelEx(&config, function, &parameter, nullptr), "cuLaunchKernelEx", "{} in clusters of {}",
          launch->symbol, launch->cluster);
  }
  count_launch(launch->row);
}

}  // namespace mgemm
