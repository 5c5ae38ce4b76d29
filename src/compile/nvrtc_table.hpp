#pragma once
#include <string>

#include "base/cuda_abi.hpp"
#include "compile/nvrtc_identity.hpp"
#include "compile/nvrtc_search.hpp"

namespace mgemm {

/// NVRTC's functions, and which NVRTC they are of.
struct NvrtcTable {
  nvrtc_abi::fn::Version* nvrtcVersion = nullptr;
  nvrtc_abi::fn::GetErrorString* nvrtcGetErrorString = nullptr;
  nvrtc_abi::fn::CreateProgram* nvrtcCreateProgram = nullptr;
  nvrtc_abi::fn::DestroyProgram* nvrtcDestroyProgram = nullptr;
  nvrtc_abi::fn::CompileProgram* nvrtcCompileProgram = nullptr;
  nvrtc_abi::fn::GetPTXSize* nvrtcGetPTXSize = nullptr;
  nvrtc_abi::fn::GetPTX* nvrtcGetPTX = nullptr;
  nvrtc_abi::fn::GetCUBINSize* nvrtcGetCUBINSize = nullptr;  // null if this NVRTC gives no machine code
  nvrtc_abi::fn::GetCUBIN* nvrtcGetCUBIN = nullptr;
  nvrtc_abi::fn::GetProgramLogSize* nvrtcGetProgramLogSize = nullptr;
  nvrtc_abi::fn::GetProgramLog* nvrtcGetProgramLog = nullptr;
  nvrtc_abi::fn::GetNumSupportedArchs* nvrtcGetNumSupportedArchs = nullptr;
  nvrtc_abi::fn::GetSupportedArchs* nvrtcGetSupportedArchs = nullptr;

  NvrtcFiles files;  // it and the builtins opened with it, as they looked just before
  NvrtcVersion version;
};

/// A search and what it loaded. The table is filled in if the report says that NVRTC is available.
struct NvrtcLibrary {
  NvrtcTable table;
  NvrtcReport report;
};

NvrtcLibrary find_nvrtc_in(const SearchEnvironment& environment, int driver_version);

/// The NVRTC of this process, searched and loaded by the first call of these three, or nullptr. `driver_version` is the
/// driver's (0 without one); only the first call's counts, for the search is done once. Any thread.
const NvrtcTable* find_nvrtc(int driver_version);

/// The same if it was loaded already, else nullptr.
const NvrtcTable* loaded_nvrtc();

/// As find_nvrtc(), or an Error with MGEMM_NO_COMPILER that lists where it was looked for.
const NvrtcTable& nvrtc(int driver_version);

const NvrtcReport& nvrtc_report(int driver_version);

/// For tests: to be used instead; nullptr restores the process's own.
void substitute_nvrtc(const NvrtcLibrary* library);

}  // namespace mgemm
