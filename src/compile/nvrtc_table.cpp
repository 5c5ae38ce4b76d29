#include "compile/nvrtc_table.hpp"

#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/lazy.hpp"
#include "base/log.hpp"
#include "compile/nvrtc_load.hpp"

namespace mgemm {
namespace {

std::atomic<const NvrtcLibrary*> substitute{nullptr};

constinit SharedLazy<NvrtcLibrary> own;

/// The stamps are taken first: a file that is replaced meanwhile then looks different from them.
std::string load_with_stamps(const NvrtcCandidate& candidate, NvrtcTable& table) {
  try {
    NvrtcFiles files = nvrtc_files(candidate.path, candidate.builtins);
    std::string reason = load_nvrtc(candidate, table);
    table.files = std::move(files);
    return reason;
  } catch (const Error& error) {
    return error.what();
  }
}

const NvrtcTable* table_of(const NvrtcLibrary* library) {
  return library != nullptr && library->report.available ? &library->table : nullptr;
}

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
  const NvrtcLibrary& library = own.get([&] { return find_nvrtc_in(process_environment(), driver_version); });
  announce_once(library.report);
  return library;
}

}  // namespace

NvrtcLibrary find_nvrtc_in(const SearchEnvironment& environment, int driver_version) {
  NvrtcLibrary library;
  library.report = search_nvrtc(environment, driver_version, [&](const NvrtcCandidate& candidate) {
    return load_with_stamps(candidate, library.table);
  });
  return library;
}

const NvrtcTable* find_nvrtc(int driver_version) { return table_of(&library_for(driver_version)); }

const NvrtcTable* loaded_nvrtc() {
  const NvrtcLibrary* const library = substitute.load(std::memory_order_acquire);
  return table_of(library != nullptr ? library : own.peek());
}

const NvrtcTable& nvrtc(int driver_version) {
  if (const NvrtcTable* table = find_nvrtc(driver_version)) return *table;
  throw Error(MGEMM_NO_COMPILER, nvrtc_report(driver_version).reason);
}

const NvrtcReport& nvrtc_report(int driver_version) { return library_for(driver_version).report; }

void substitute_nvrtc(const NvrtcLibrary* library) { substitute.store(library, std::memory_order_release); }

}  // namespace mgemm
