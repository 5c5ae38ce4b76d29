#include "bench/board.hpp"

#include <array>

#include "bench/shared_library.hpp"

namespace mgemm::cli::bench {
namespace {

// What we use of NVML, by its manual.
struct DeviceTag;
using NvmlDevice = DeviceTag*;
enum class NvmlResult : int { success = 0 };
enum class NvmlClock : int { sm = 1 };
using NvmlInit = NvmlResult();
using NvmlShutdown = NvmlResult();
using NvmlDriverVersion = NvmlResult(char* text, unsigned length);
using NvmlByBusId = NvmlResult(const char* bus_id, NvmlDevice* device);
using NvmlClockInfo = NvmlResult(NvmlDevice device, NvmlClock clock, unsigned* mhz);
using NvmlPowerLimit = NvmlResult(NvmlDevice device, unsigned* milliwatts);

}  // namespace

struct Board::Nvml {
  SharedLibrary library{"NVML", {"libnvidia-ml.so.1"}};
  NvmlShutdown* shutdown = nullptr;
  NvmlDriverVersion* driver_version = nullptr;
  NvmlClockInfo* clock_info = nullptr;
  NvmlPowerLimit* power_limit = nullptr;
  NvmlDevice device = nullptr;

  explicit Nvml(const std::string& pci_bus_id) {
    NvmlInit* init = nullptr;
    NvmlByBusId* by_bus_id = nullptr;
    library.find(init, "nvmlInit_v2");
    library.find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    library.find(driver_version, "nvmlSystemGetDriverVersion");
    library.find(clock_info, "nvmlDeviceGetClockInfo");
    library.find(power_limit, "nvmlDeviceGetPowerManagementLimit");
    library.find(shutdown, "nvmlShutdown");
    if (init() != NvmlResult::success) throw Failure("nvmlInit failed");
    if (by_bus_id(pci_bus_id.c_str(), &device) == NvmlResult::success) return;
    static_cast<void>(shutdown());
    throw Failure("NVML knows no board at " + pci_bus_id);
  }
  ~Nvml() { static_cast<void>(shutdown()); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  Nvml(Nvml&&) = delete;
  Nvml& operator=(Nvml&&) = delete;
};

Board::Board(const std::string& pci_bus_id) {
  try {
    nvml_ = std::make_unique<Nvml>(pci_bus_id);
  } catch (const Failure&) {
    nvml_.reset();  // it is no more than a help
  }
}

Board::~Board() = default;

std::string Board::driver_version() const {
  std::array<char, 96> text{};
  if (!nvml_ || nvml_->driver_version(text.data(), static_cast<unsigned>(text.size())) != NvmlResult::success)
    return "";
  return text.data();
}

std::uint32_t Board::sm_mhz() const {
  unsigned mhz = 0;
  return nvml_ && nvml_->clock_info(nvml_->device, NvmlClock::sm, &mhz) == NvmlResult::success ? mhz : 0;
}

std::uint32_t Board::power_limit_w() const {
  constexpr unsigned milliwatts_per_watt = 1000;
  unsigned milliwatts = 0;
  const bool known = nvml_ && nvml_->power_limit(nvml_->device, &milliwatts) == NvmlResult::success;
  return known ? milliwatts / milliwatts_per_watt : 0;
}

}  // namespace mgemm::cli::bench
