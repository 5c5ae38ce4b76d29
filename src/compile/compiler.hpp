#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/embedded.hpp"
#include "compile/nvrtc_table.hpp"

namespace mgemm {

struct CompileRequest {
  std::string name;  // of the module; what the compiler calls the file in its messages
  std::string text;
  std::span<const EmbeddedFile> headers;  // what it may include
  std::string target;                     // "compute_90a" for PTX, "sm_90a" for machine code
};

struct Compiled {
  std::string ptx;
  std::string log;  // warnings, if any
};

/// The compile target of a compute capability (catalogue/targets.hpp), or an Error with MGEMM_UNSUPPORTED.
std::string target_for(int major, int minor);

/// The name of the same target for machine code: "sm_90a" for "compute_90a".
std::string machine_target(std::string_view target);

/// What follows compute_ or sm_ in a target, for example "90a"; "" if it has neither.
std::string_view architecture_in(std::string_view target);

/// Whether this begins as machine code does.
bool is_elf_image(std::string_view code);

/// The options every module is compiled with. They are part of the numeric contracts: no contraction, no flushing,
/// IEEE division and square root. NVRTC's own cache, which it has since 12.9, is not used: it is not ours to trust, and
/// what comes out of it has no log.
std::vector<std::string> compile_options(const std::string& target, const NvrtcVersion& version);

/// Compiles one module. Any number of threads at a time. Errors: MGEMM_UNSUPPORTED (NVRTC does not know the target),
/// MGEMM_COMPILE, MGEMM_OUT_OF_MEMORY, with NVRTC's own code.
Compiled compile(const NvrtcTable& nvrtc, const CompileRequest& request);

struct MachineCode {
  std::string code;  // an ELF image
  std::string log;
};

/// The same for machine code, with exactly these options. NVRTC's assembler may end the process that calls this, so
/// only a process of its own does (compile/assemble.hpp).
MachineCode compile_to_machine_code(const NvrtcTable& nvrtc, const CompileRequest& request,
                                    const std::vector<std::string>& options);

}  // namespace mgemm
