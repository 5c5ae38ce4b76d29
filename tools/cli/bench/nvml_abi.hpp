// What we use of NVML, by its manual; its header is not needed to build.
#pragma once

namespace mgemm::cli::bench::nvml {

struct DeviceTag;
using Device = DeviceTag*;
/// nvmlReturn_t: any other value is an error.
enum class Result : int { success = 0 };
/// nvmlClockType_t
enum class Clock : int { sm = 1 };

namespace fn {

using Init = Result();
using Shutdown = Result();
using SystemGetDriverVersion = Result(char* text, unsigned length);
using DeviceGetHandleByPciBusId = Result(const char* bus_id, Device* device);
using DeviceGetClockInfo = Result(Device device, Clock clock, unsigned* mhz);
using DeviceGetPowerManagementLimit = Result(Device device, unsigned* milliwatts);

}  // namespace fn
}  // namespace mgemm::cli::bench::nvml
