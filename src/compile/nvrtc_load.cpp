#include "compile/nvrtc_load.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>

namespace mgemm {
namespace {

struct Symbol {
  const char* name = nullptr;
  void (*assign)(NvrtcTable&, void*) = nullptr;
  bool optional = false;
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
    Symbol{"nvrtcGetCUBINSize", assign<&NvrtcTable::nvrtcGetCUBINSize>, true},
    Symbol{"nvrtcGetCUBIN", assign<&NvrtcTable::nvrtcGetCUBIN>, true},
    Symbol{"nvrtcGetProgramLogSize", assign<&NvrtcTable::nvrtcGetProgramLogSize>},
    Symbol{"nvrtcGetProgramLog", assign<&NvrtcTable::nvrtcGetProgramLog>},
    Symbol{"nvrtcGetNumSupportedArchs", assign<&NvrtcTable::nvrtcGetNumSupportedArchs>},
    Symbol{"nvrtcGetSupportedArchs", assign<&NvrtcTable::nvrtcGetSupportedArchs>},
};

std::string loader_error() {
  const char* const text = dlerror();
  return text != nullptr ? text : "the loader gives no reason";
}

std::atomic<std::uint64_t> loads{0};

void* open_counted(const std::string& path, int binding) {
  loads.fetch_add(1, std::memory_order_relaxed);
  return dlopen(path.c_str(), binding | RTLD_LOCAL);
}

}  // namespace

std::uint64_t nvrtc_loads() noexcept { return loads.load(std::memory_order_relaxed); }

std::string load_nvrtc(const NvrtcCandidate& candidate, NvrtcTable& table) {
  // First, and kept: NVRTC opens it by its bare name at the first compile, which finds what is already loaded.
  if (dlopen(candidate.builtins.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    return fmt::format("its builtins could not be opened: {}", loader_error());
  }
  void* const handle = open_counted(candidate.path, RTLD_NOW);
  if (handle == nullptr) return fmt::format("could not be opened: {}", loader_error());

  NvrtcTable loaded;
  for (const Symbol& symbol : symbols) {
    void* const pointer = dlsym(handle, symbol.name);
    if (pointer == nullptr && !symbol.optional) return fmt::format("lacks {}", symbol.name);
    symbol.assign(loaded, pointer);
  }
  NvrtcVersion version;
  if (const auto result = loaded.nvrtcVersion(&version.major, &version.minor); result != nvrtc_abi::Result::Success) {
    return fmt::format("nvrtcVersion fails: {}", loaded.nvrtcGetErrorString(result));
  }
  if (version != candidate.version) {
    return fmt::format("says it is {}, its name says {}", to_string(version), to_string(candidate.version));
  }
  loaded.files = {candidate.path, candidate.builtins, {}, {}};
  loaded.version = version;
  table = loaded;
  return {};
}

NvrtcVersion ask_nvrtc_version(const std::string& path) {
  NvrtcVersion version;
  void* const handle = open_counted(path, RTLD_LAZY);
  if (handle == nullptr) return {};
  auto* const function = reinterpret_cast<nvrtc_abi::fn::Version*>(dlsym(handle, "nvrtcVersion"));
  if (function == nullptr || function(&version.major, &version.minor) != nvrtc_abi::Result::Success) return {};
  return version;
}

}  // namespace mgemm
