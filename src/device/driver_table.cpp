#include "device/driver_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/lazy.hpp"
#include "device/driver_load.hpp"

namespace mgemm {
namespace {

constexpr const char* forked_text =
    "the CUDA driver was initialised before fork(), and a child process cannot use it; start the child with exec "
    "(\"spawn\"), or fork before the first CUDA call";

/// Results after which the CUDA context is of no use any more.
constexpr std::array sticky{
    cuda::Result::EccUncorrectable,
    cuda::Result::IllegalAddress,
    cuda::Result::LaunchTimeout,
    cuda::Result::ContextIsDestroyed,
    cuda::Result::Assert,
    cuda::Result::HardwareStackError,
    cuda::Result::IllegalInstruction,
    cuda::Result::MisalignedAddress,
    cuda::Result::InvalidAddressSpace,
    cuda::Result::InvalidPc,
    cuda::Result::LaunchFailed,
};

std::atomic<const DriverTable*> substitute{nullptr};

const LoadedDriver& machine_driver() {
  static constinit SharedLazy<LoadedDriver> loaded;
  return loaded.get([] { return load_driver("libcuda.so.1"); });
}

struct ErrorText {
  std::string name;
  std::string text;
};

ErrorText describe(cuda::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (const DriverTable* table = find_driver()) {
    if (table->cuGetErrorName(result, &name) != cuda::Result::Success) name = nullptr;
    if (table->cuGetErrorString(result, &text) != cuda::Result::Success) text = nullptr;
  }
  return {name != nullptr ? name : "unknown CUDA error", text != nullptr ? text : "the driver has no text for it"};
}

}  // namespace

const DriverTable* find_driver() {
  if (const DriverTable* table = substitute.load(std::memory_order_acquire)) return table;
  const LoadedDriver& loaded = machine_driver();
  return loaded.status == MGEMM_OK && !inherited(loaded) ? &loaded.table : nullptr;
}

const DriverTable& driver() {
  if (const DriverTable* table = find_driver()) return *table;
  const LoadedDriver& loaded = machine_driver();
  if (inherited(loaded)) throw Error(MGEMM_FORKED, forked_text);
  throw Error(loaded.status, fmt::format("no CUDA device can be used: {}", loaded.reason), loaded.code);
}

Status driver_status() {
  if (find_driver() != nullptr) return MGEMM_OK;
  const LoadedDriver& loaded = machine_driver();
  return inherited(loaded) ? MGEMM_FORKED : loaded.status;
}

std::string driver_reason() {
  if (find_driver() != nullptr) return {};
  const LoadedDriver& loaded = machine_driver();
  return inherited(loaded) ? forked_text : loaded.reason;
}

int driver_version() {
  const DriverTable* const table = find_driver();
  int version = 0;
  if (table == nullptr || table->cuDriverGetVersion(&version) != cuda::Result::Success) return 0;
  return version;
}

DriverBuild driver_build() {
  if (substitute.load(std::memory_order_acquire) != nullptr || find_driver() == nullptr) return {};
  return machine_driver().build;
}

void substitute_driver(const DriverTable* table) { substitute.store(table, std::memory_order_release); }

void fail_driver(cuda::Result result, const char* call, const std::string& detail) {
  const ErrorText error = describe(result);
  const int code = static_cast<int>(result);
  const std::string what = fmt::format("{}{}{}{} failed: {} ({}): {}", call, detail.empty() ? "" : " (", detail,
                                       detail.empty() ? "" : ")", error.name, code, error.text);
  if (result == cuda::Result::OutOfMemory) throw Error(MGEMM_OUT_OF_MEMORY, what, code);
  if (std::ranges::find(sticky, result) != sticky.end()) {
    throw Error(MGEMM_DEVICE_LOST,
                what + "; an earlier launch, possibly not ours, has faulted, and its CUDA context is lost", code);
  }
  throw Error(MGEMM_DRIVER, what, code);
}

}  // namespace mgemm
