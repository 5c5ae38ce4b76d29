#include <cstring>

#include "device/cuda_device.hpp"

namespace mgemm {

DeviceFacts read_facts(const DriverTable& driver, int ordinal) {
  cuda::Device device = 0;
  check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet", "device {}", ordinal);
  const auto attribute = [&](cuda::DeviceAttribute which) {
    int value = 0;
    check(driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute", "attribute {}",
          static_cast<int>(which));
    return value;
  };
  DeviceFacts facts;
  facts.kind = MGEMM_DEVICE_CUDA;
  facts.ordinal = ordinal;
  facts.compute_major = attribute(cuda::DeviceAttribute::ComputeCapabilityMajor);
  facts.compute_minor = attribute(cuda::DeviceAttribute::ComputeCapabilityMinor);
  facts.multiprocessors = attribute(cuda::DeviceAttribute::MultiprocessorCount);
  facts.shared_bytes_per_block = attribute(cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin);
  facts.tensor_maps = attribute(cuda::DeviceAttribute::TensorMapAccessSupported) != 0;
  facts.driver_build = driver_build();
  facts.l2_bytes = attribute(cuda::DeviceAttribute::L2CacheSize);
  std::size_t memory = 0;
  check(driver.cuDeviceTotalMem(&memory, device), "cuDeviceTotalMem");
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  check(driver.cuDriverGetVersion(&facts.driver_version), "cuDriverGetVersion");
  cuda::Uuid uuid{};
  check(driver.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  std::memcpy(facts.uuid.data(), uuid.bytes, facts.uuid.size());
  std::array<char, 128> name{};
  check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
  facts.name = name.data();
  return facts;
}

}  // namespace mgemm
