#pragma once
#include <span>
#include <string>
#include <string_view>

namespace mgemm {

/// An environment variable that decides how the library, or what it loads, behaves.
struct KnownVariable {
  const char* name;
  const char* reader;                                // who looks at it: "library", "nvrtc" or "driver"
  std::string (*objection)(std::string_view value);  // what is wrong with a value, "" if nothing
};

/// All of them; the library reads no other MAMBA_GEMM_* variable. Those that only say where to search (CUDA_HOME, HOME
/// and the like) are not among them.
std::span<const KnownVariable> known_variables();

}  // namespace mgemm
