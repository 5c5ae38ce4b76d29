#include "bench/board.hpp"

#include <array>

#include "bench/nvml_abi.hpp"
#include "bench/shared_library.hpp"

namespace mgemm::cli::bench {
struct Board::Nvml {
  SharedLibrary library{"NVML", {"libnvidia-ml.so.1"}};
  nvml::fn::Shutdown* shutdown = nullptr;
  nvml::fn::SystemGetDriverVersion* driver_version = nullptr;
  nvml::fn::DeviceGetClockInfo* clock_info = nullptr;
  nvml::fn::DeviceGetPowerManagementLimit* power_limit = nullptr;
  nvml::Device device = nullptr;

  explicit Nvml(const std::string& pci_bus_id) {
    nvml::fn::Init* init = nullptr;
    nvml::fn::DeviceGetHandleByPciBusId* by_bus_id = nullptr;
    library.find(init, "nvmlInit_v2");
    library.find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    library.find(driver_version, "nvmlSystemGetDriverVersion");
    library.find(clock_info, "nvmlDeviceGetClockInfo");
    library.find(power_limit, "nvmlDeviceGetPowerManagementLimit");
    library.find(shutdown, "nvmlShutdown");
    if (init() != nvml::Result::success) throw Failure("nvmlInit failed");
    if (by_bus_id(pci_bus_id.c_str(), &device) == nvml::Result::success) return;
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
  if (!nvml_ || nvml_->driver_version(text.data(), static_cast<unsigned>(text.size())) != nvml::Result::success)
    return "";
  return text.data();
}

std::uint32_t Board::sm_mhz() const {
  unsigned mhz = 0;
  return nvml_ && nvml_->clock_info(nvml_->device, nvml::Clock::sm, &mhz) == nvml::Result::success ? mhz : 0;
}

std::uint32_t Board::power_limit_w() const {
  constexpr unsigned milliwatts_per_watt = 1000;
  unsigned milliwatts = 0;
  const bool known = nvml_ && nvml_->power_limit(nvml_->device, &milliwatts) == nvml::Result::success;
  return known ? milliwatts / milliwatts_per_watt : 0;
}

}  // namespace mgemm::cli::bench
