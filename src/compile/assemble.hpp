#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "compile/assemble_protocol.hpp"

namespace mgemm {

struct AssembleLimits {
  std::chrono::milliseconds time{120'000};
  std::size_t response_bytes = std::size_t{64} << 20U;
};

/// Machine code of a module.
struct AssembledModule {
  std::string code;  // an ELF image
  Digest sha256;     // of it
  NvrtcVersion version;
  std::string log;  // the compiler's, if it had anything to say
};

/// The assembler died of a module, and does not of another. The driver's compiler is made of the same parts, and would
/// end this process: measured on an H200 with driver 580.159.
class AssemblerCrash : public Error {
 public:
  using Error::Error;
};

/// The request for a module's machine code from the same text and options as its PTX; `module.target` is that of the
/// PTX, for example "compute_90a".
AssembleRequest assemble_request(CompileRequest module, const NvrtcCandidate& nvrtc);

/// Has NVRTC assemble a module in a process of its own (`helper`, see find_helper), because NVRTC's assembler is known
/// to end the process it runs in. Only a complete response whose SHA-256 agrees counts, with an ELF image that the
/// requested version made. Errors: MGEMM_COMPILE with what
/// happened (a signal's name, the time limit, what is wrong with the response, the compiler's message), as an
/// AssemblerCrash where that is what it was,
/// MGEMM_UNSUPPORTED, MGEMM_OUT_OF_MEMORY. Any number of threads at a time.
AssembledModule assemble(const std::string& helper, const AssembleRequest& request, const AssembleLimits& limits = {});

}  // namespace mgemm
