#include "compile/nvrtc_table.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>

#include "base/error.hpp"
#include "base/log.hpp"

namespace mgemm {
namespace {

struct Symbol {
  const char* name;
  void (*assign)(NvrtcTable&, void*);
};

template <auto Member>
void assign(NvrtcTable& table, void* pointer) {
  table.*Member = reinterpret_cast<std::remove_reference_t<decltype(table.*Member)>>(pointer);
}

constexpr std::array symbols{
    Symbol{"nvrtcVersion", assign<&NvrtcTable::nvrtcVersion>},
    Symbol{"nvrtcGetErrorString", assign<&NvrtcTable::nvrtcGetErrorString>},
    Symbol{"nvrtcCreateProgram", assign<&NvrtcTable::nvrtcCreateProgram>},
    Symbol{"nvrtcDestroyProgram", assign<&NvrtcTable::nvrtcDestroyProgram>},
    Symbol{"nvrtcCompileProgram", assign<&NvrtcTable::nvrtcCompileProgram>},
    Symbol{"nvrtcGetPTXSize", assign<&NvrtcTable::nvrtcGetPTXSize>},
    Symbol{"nvrtcGetPTX", assign<&NvrtcTable::nvrtcGetPTX>},
    Symbol{"nvrtcGetProgramLogSize", assign<&NvrtcTable::nvrtcGetProgramLogSize>},
    Symbol{"nvrtcGetProgramLog", assign<&NvrtcTable::nvrtcGetProgramLog>},
    Symbol{"nvrtcGetNumSupportedArchs", assign<&NvrtcTable::nvrtcGetNumSupportedArchs>},
    Symbol{"nvrtcGetSupportedArchs", assign<&NvrtcTable::nvrtcGetSupportedArchs>},
};

std::string loader_error() {
  const char* const text = dlerror();
  return text != nullptr ? text : "the loader gives no reason";
}

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

std::string load_nvrtc(const NvrtcCandidate& candidate, NvrtcTable& table) {
  // First, and kept: NVRTC opens it by its bare name at the first compile, which finds what is already loaded.
  if (dlopen(candidate.builtins.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return fmt::format("its builtins could not be opened: {}", loader_error());
  }
  void* const handle = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fmt::format("could not be opened: {}", loader_error());

  NvrtcTable loaded;
  for (const Symbol& symbol : symbols) {
    void* const pointer = dlsym(handle, symbol.name);
    if (pointer == nullptr) return fmt::format("lacks {}", symbol.name);
    symbol.assign(loaded, pointer);
  }
  NvrtcVersion version;
  if (const auto result = loaded.nvrtcVersion(&version.major, &version.minor); result != nvrtc_abi::Result::Success) {
    return fmt::format("nvrtcVersion fails: {}", loaded.nvrtcGetErrorString(result));
  }
  if (version != candidate.version) {
    return fmt::format("says it is {}, its name says {}", to_string(version), to_string(candidate.version));
  }
  loaded.path = candidate.path;
  loaded.version = version;
  table = loaded;
  return {};
}

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
