#include "module/loader.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/give_back.hpp"
#include "base/log_once.hpp"
#include "device/current_context.hpp"
#include "module/module_code.hpp"
#include "module/qualify.hpp"
#include "module/tensor_probe.hpp"
#include "module/verdict.hpp"

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

/// Looks a kernel up and sees whether it may run at all. A missing one leaves its siblings alone.
LoadedKernel admit(const CudaDevice& device, const KernelRow& row, cuda::Module module, const LoggedFacts& logged) {
  const DriverTable& driver = device.driver();
  LoadedKernel kernel;
  const cuda::Result found = driver.cuModuleGetFunction(&kernel.function, module, row.symbol.c_str());
  if (found == cuda::Result::NotFound) {
    kernel.reason = missing_symbol;
  } else {
    check(found, "cuModuleGetFunction", "{}", row.symbol.view());
    kernel.resources = read_attributes(driver, kernel.function);
    const auto own = logged.find(row.symbol.view());
    if (own != logged.end()) kernel.resources.advisory = own->second.advisory;
    kernel.reason = reason_to_exclude(row, kernel.resources, {device.facts().shared_bytes_per_block});
  }
  if (!kernel.reason.empty()) {
    kernel.state = KernelState::excluded;
    log_once(MGEMM_LOG_WARN,
             fmt::format("kernel {} is excluded on {}: {}", row.symbol.view(), device.facts().name, kernel.reason));
    return kernel;
  }
  check(driver.cuFuncSetAttribute(kernel.function, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes,
                                  row.shared_bytes()),
        "cuFuncSetAttribute", "{}", row.symbol.view());
  return kernel;
}

using Kernels = std::map<std::string_view, LoadedKernel>;

/// Runs the probes of kernels. Whether all passed.
bool run_probes(CudaDevice& device, const TensorSet& set, std::span<const std::string_view> symbols, Kernels& kernels) {
  bool passed = true;
  for (const std::string_view symbol : symbols) {
    LoadedKernel& kernel = kernels.at(symbol);
    kernel.reason = qualify(device, *find_kernel(symbol), set, kernel.function);
    if (kernel.reason.empty()) continue;
    passed = false;
    kernel.state = KernelState::broken;
    log_once(MGEMM_LOG_ERROR, fmt::format("kernel {} does not compute its contract on {} and will not be used: {}",
                                          symbol, device.facts().name, kernel.reason));
  }
  return passed;
}

/// Qualifies all admitted kernels: by their probes, unless this very code has passed them before.
void qualify_all(CudaDevice& device, std::string_view module, const LoadedModule& loaded, Kernels& kernels,
                 const std::string& cache_directory) {
  std::vector<std::string_view> symbols;
  for (const auto& [symbol, kernel] : kernels) {
    if (kernel.state == KernelState::usable) symbols.push_back(symbol);
  }
  if (symbols.empty()) return;
  const DeviceFacts& facts = device.facts();
  const Type type = find_kernel(symbols.front())->in_type;  // of all in the module
  const TensorSet& set = tensor_set_for(type, device, cache_directory);
  const std::string contract = to_string(contract_for(type, set));

  const auto start = std::chrono::steady_clock::now();
  Qualification result;
  result.by_verdict = is_verdict_kept(loaded, facts, contract, symbols, cache_directory);
  if (!result.by_verdict && run_probes(device, set, symbols, kernels)) {
    keep_verdict(loaded, facts, contract, symbols, cache_directory);
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  result.milliseconds = elapsed.count();
  for (const std::string_view symbol : symbols) kernels.at(symbol).qualification = result;
  log(MGEMM_LOG_INFO, "module {} on {}: {} in {:.1f} ms", module, facts.name,
      result.by_verdict ? "the verdict of an earlier start found" : "the probes run", result.milliseconds);
}

/// Whether an error is the module's own: another may do better. All else (no memory, no compiler, an internal error)
/// is of the machine, or passes.
bool is_of_module(const Error& error) {
  const int code = error.driver_code();
  if (error.status() == MGEMM_COMPILE) return code == 0 || code == static_cast<int>(nvrtc_abi::Result::Compilation);
  constexpr std::array refusals{cuda::Result::InvalidImage, cuda::Result::NoBinaryForGpu, cuda::Result::InvalidPtx};
  return error.status() == MGEMM_DRIVER &&
         std::ranges::find(refusals, static_cast<cuda::Result>(code)) != refusals.end();
}

/// The kernels of a module that cannot be had.
Kernels fail_all(std::string_view module, const DeviceFacts& facts, const Error& error) {
  log_once(MGEMM_LOG_WARN, fmt::format("module {} cannot be used on {}: {}", module, facts.name, error.what()));
  LoadedKernel kernel;
  kernel.state = KernelState::failed;
  kernel.reason = error.what();
  kernel.failure = error.status();
  kernel.failure_code = error.driver_code();
  Kernels kernels;
  for (const KernelRow& row : catalogue()) {
    if (row.module.view() == module) kernels.emplace(row.symbol.view(), kernel);
  }
  return kernels;
}

/// Admits and qualifies the kernels of a module that is loaded in the current context; unloads it on failure.
Kernels admit_all(CudaDevice& device, std::string_view module, LoadedModule& loaded,
                  const std::string& cache_directory) {
  Kernels kernels;
  try {
    const auto identity = std::make_shared<const ArtifactIdentity>(std::move(loaded.identity));
    const LoggedFacts logged = read_assembler_log(loaded.log);
    for (const KernelRow& row : catalogue()) {
      if (row.module.view() != module) continue;
      LoadedKernel kernel = admit(device, row, loaded.module, logged);
      kernel.artifact = identity;
      kernels.emplace(row.symbol.view(), std::move(kernel));
    }
    qualify_all(device, module, loaded, kernels, cache_directory);
  } catch (...) {
    give_back("a module", [&] { check(device.driver().cuModuleUnload(loaded.module), "cuModuleUnload"); });
    throw;
  }
  return kernels;
}

Kernels load_all(CudaDevice& device, const KernelRow& row, const std::string& cache_directory) {
  const std::string_view module = row.module.view();
  const DeviceFacts& facts = device.facts();
  // Found out before, so that a failure of that is not taken for the module's.
  static_cast<void>(tensor_set_for(row.in_type, device, cache_directory));
  // Before there is a module to unload, so that nothing can fail in between.
  const CurrentContext current(device.driver(), device.context());
  try {
    LoadedModule loaded =
        load_module(device, {module, facts.compute_major, facts.compute_minor, facts.driver_version, cache_directory});
    return admit_all(device, module, loaded, cache_directory);
  } catch (const Error& error) {
    if (!is_of_module(error)) throw;
    return fail_all(module, facts, error);
  }
}

}  // namespace

std::string_view to_string(KernelState state) {
  constexpr std::array<std::string_view, 4> names{"usable", "excluded", "broken", "failed"};
  return names.at(static_cast<size_t>(state));
}

LoadedKernel load_kernel(CudaDevice& device, const KernelRow& row, const std::string& cache_directory) {
  const LogDeferral deferral;  // what is logged below is delivered once the lock is released
  const std::shared_ptr<ModuleEntry> entry = entry_of(device.context_id(), row.module.view());
  const std::lock_guard lock(entry->mutex);
  if (entry->kernels.empty()) entry->kernels = load_all(device, row, cache_directory);
  return entry->kernels.at(row.symbol.view());
}

}  // namespace mgemm
