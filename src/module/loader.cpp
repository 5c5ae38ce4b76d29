#include "module/loader.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "device/current_context.hpp"
#include "module/module_code.hpp"

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
  LoadedModule loaded =
      load_module(device, {module, facts.compute_major, facts.compute_minor, facts.driver_version, cache_directory});
  const auto artifact = std::make_shared<const ArtifactIdentity>(std::move(loaded.identity));
  const DriverTable& driver = device.driver();
  const CurrentContext current(driver, device.context());
  std::map<std::string_view, LoadedKernel> kernels;
  try {
    for (const KernelRow& row : catalogue()) {
      if (row.module.view() != module) continue;
      LoadedKernel kernel;
      kernel.artifact = artifact;
      check(driver.cuModuleGetFunction(&kernel.function, loaded.module, row.symbol.c_str()), "cuModuleGetFunction",
            "{}", row.symbol.view());
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
    static_cast<void>(driver.cuModuleUnload(loaded.module));
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
