#include "compile/nvrtc_table.hpp"

#include <atomic>

#include "base/error.hpp"
#include "base/log.hpp"
#include "compile/nvrtc_load.hpp"

namespace mgemm {
namespace {

std::atomic<const NvrtcLibrary*> substitute{nullptr};

NvrtcLibrary* load_for_process(int driver_version) {
  return new NvrtcLibrary(find_nvrtc_in(process_environment(), driver_version));
}

/// Outside the guard of the static below: whoever receives the log may not find us holding a lock.
void announce_once(const NvrtcReport& report) {
  static std::atomic<bool> announced{false};
  if (announced.load(std::memory_order_relaxed) || announced.exchange(true)) return;
  if (report.available) {
    log(MGEMM_LOG_INFO, "NVRTC {} from {}", to_string(report.version), report.path);
  } else {
    log(MGEMM_LOG_INFO, "{}", report.reason);
  }
}

const NvrtcLibrary& library_for(int driver_version) {
  if (const NvrtcLibrary* library = substitute.load(std::memory_order_acquire)) return *library;
  static const NvrtcLibrary* const library = load_for_process(driver_version);  // never destroyed
  announce_once(library->report);
  return *library;
}

}  // namespace

NvrtcLibrary find_nvrtc_in(const SearchEnvironment& environment, int driver_version) {
  NvrtcLibrary library;
  library.report = search_nvrtc(environment, driver_version,
                                [&](const NvrtcCandidate& candidate) { return load_nvrtc(candidate, library.table); });
  return library;
}

const NvrtcTable* find_nvrtc(int driver_version) {
  const NvrtcLibrary& library = library_for(driver_version);
  return library.report.available ? &library.table : nullptr;
}

const NvrtcTable& nvrtc(int driver_version) {
  if (const NvrtcTable* table = find_nvrtc(driver_version)) return *table;
  throw Error(MGEMM_NO_COMPILER, nvrtc_report(driver_version).reason);
}

const NvrtcReport& nvrtc_report(int driver_version) { return library_for(driver_version).report; }

void substitute_nvrtc(const NvrtcLibrary* library) { substitute.store(library, std::memory_order_release); }

}  // namespace mgemm
