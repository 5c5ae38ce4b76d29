#pragma once
#include <string>

#include "compile/nvrtc_sources.hpp"

namespace mgemm {

/// The variable that names the helper program, or turns the tier off with "off".
constexpr const char* helper_variable = "MAMBA_GEMM_HELPER";

/// Whether machine code is not wanted, not even what is in the cache.
bool machine_code_is_off(const SearchEnvironment& environment);

/// Where mamba-gemm-assemble is, which makes machine code (compile/assemble.hpp).
struct HelperLocation {
  std::string path;    // with all links resolved; "" if there is none, which turns that tier off
  std::string source;  // how it was found
  std::string reason;  // why there is none
};

/// MAMBA_GEMM_HELPER (an absolute path, or "off"; nothing else is tried while it is set), else beside the library, else
/// in libexec/mamba-gemm of the same installation. Only a regular executable file counts that belongs to root, to us or
/// to whom the library belongs, and that nobody else may write or, in any folder above it, replace (cache/trust.hpp).
HelperLocation find_helper(const SearchEnvironment& environment);

}  // namespace mgemm
