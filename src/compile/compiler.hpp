#pragma once
#include <span>
#include <string>
#include <vector>

#include "catalogue/embedded.hpp"
#include "compile/nvrtc_table.hpp"

namespace mgemm {

struct CompileRequest {
  std::string name;  // of the module; what the compiler calls the file in its messages
  std::string text;
  std::span<const EmbeddedFile> headers;  // what it may include
  std::string target;                     // for example "compute_90a"
};

struct Compiled {
  std::string ptx;
  std::string log;  // warnings, if any
};

/// The compile target of a compute capability (catalogue/targets.hpp), or an Error with MGEMM_UNSUPPORTED.
std::string target_for(int major, int minor);

/// The options every module is compiled with. They are part of the numeric contracts: no contraction, no flushing,
/// IEEE division and square root.
std::vector<std::string> compile_options(const std::string& target);

/// Compiles one module. Any number of threads at a time. Errors: MGEMM_UNSUPPORTED (NVRTC does not know the target),
/// MGEMM_COMPILE, MGEMM_OUT_OF_MEMORY, with NVRTC's own code.
Compiled compile(const NvrtcTable& nvrtc, const CompileRequest& request);

}  // namespace mgemm
