#include "module/loader.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "compile/artifact.hpp"
#include "device/current_context.hpp"

namespace mgemm {
namespace {

/// A module in a CUDA context. The mutex is held while it is being made, so that others wait instead of compiling too;
/// a failure leaves it empty for the next caller to try.
struct ModuleEntry {
  std::mutex mutex;
  std::map<std::string_view, LoadedKernel> kernels;  // by symbol
};

struct Registry {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::string_view>, std::shared_ptr<ModuleEntry>> modules;  // by context id and name
};

std::shared_ptr<ModuleEntry> entry_of(std::uint64_t context_id, std::string_view module) {
  static auto* const registry = new Registry;  // never destroyed
  const std::lock_guard lock(registry->mutex);
  std::shared_ptr<ModuleEntry>& entry = registry->modules[{context_id, module}];
  if (entry == nullptr) entry = std::make_shared<ModuleEntry>();
  return entry;
}

cuda::Module load_module(const DriverTable& driver, std::string_view name, const std::string& ptx) {
  std::array<char, 4096> log_text{};
  std::array<cuda::JitOption, 2> options{cuda::JitOption::ErrorLogBuffer, cuda::JitOption::ErrorLogBufferSizeBytes};
  // The driver takes an integer option by value in the pointer's place.
  std::array<void*, 2> values{log_text.data(), reinterpret_cast<void*>(log_text.size())};
  cuda::Module module = nullptr;
  const cuda::Result result =
      driver.cuModuleLoadDataEx(&module, ptx.c_str(), options.size(), options.data(), values.data());
  check(result, "cuModuleLoadDataEx", "module {}: {}", name, log_text.data());
  return module;
}

int attribute(const DriverTable& driver, cuda::Function function, cuda::FunctionAttribute which) {
  int value = 0;
  check(driver.cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute");
  return value;
}

/// Why a kernel must not be used on this device, "" if it may.
std::string reason_to_exclude(const CudaDevice& device, const KernelRow& row, cuda::Function function) {
  const int local = attribute(device.driver(), function, cuda::FunctionAttribute::LocalSizeBytes);
  if (local != 0) return fmt::format("it spills {} bytes a thread to local memory", local);
  const int threads = attribute(device.driver(), function, cuda::FunctionAttribute::MaxThreadsPerBlock);
  if (threads < row.threads()) return fmt::format("it may run {} threads, {} are needed", threads, row.threads());
  if (row.shared_bytes() > device.facts().shared_bytes_per_block) {
    return fmt::format("it needs {} bytes of shared memory, the device has {}", row.shared_bytes(),
                       device.facts().shared_bytes_per_block);
  }
  return "";
}

std::map<std::string_view, LoadedKernel> load_all(CudaDevice& device, std::string_view module,
                                                  const std::string& cache_directory) {
  const DeviceFacts& facts = device.facts();
  const Artifact artifact =
      artifact_of(module, facts.compute_major, facts.compute_minor, facts.driver_version, cache_directory);
  const DriverTable& driver = device.driver();
  const CurrentContext current(driver, device.context());
  const cuda::Module loaded = load_module(driver, module, artifact.ptx);
  std::map<std::string_view, LoadedKernel> kernels;
  try {
    for (const KernelRow& row : catalogue()) {
      if (row.module.view() != module) continue;
      LoadedKernel kernel;
      kernel.artifact = artifact.identity;
      check(driver.cuModuleGetFunction(&kernel.function, loaded, row.symbol.c_str()), "cuModuleGetFunction", "{}",
            row.symbol.view());
      kernel.excluded = reason_to_exclude(device, row, kernel.function);
      if (kernel.excluded.empty()) {
        check(driver.cuFuncSetAttribute(kernel.function, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes,
                                        row.shared_bytes()),
              "cuFuncSetAttribute", "{}", row.symbol.view());
      } else {
        log(MGEMM_LOG_WARN, "kernel {} is excluded on {}: {}", row.symbol.view(), facts.name, kernel.excluded);
      }
      kernels.emplace(row.symbol.view(), kernel);
    }
  } catch (...) {
    static_cast<void>(driver.cuModuleUnload(loaded));
    throw;
  }
  return kernels;
}

}  // namespace

LoadedKernel load_kernel(CudaDevice& device, const KernelRow& row, const std::string& cache_directory) {
  const LogDeferral deferral;  // what is logged below is delivered once the lock is released
  const std::shared_ptr<ModuleEntry> entry = entry_of(device.context_id(), row.module.view());
  const std::lock_guard lock(entry->mutex);
  if (entry->kernels.empty()) entry->kernels = load_all(device, row.module.view(), cache_directory);
  return entry->kernels.at(row.symbol.view());
}

}  // namespace mgemm
