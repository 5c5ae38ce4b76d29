// What `mamba-gemm doctor` tries out, through the library.
#pragma once
#include <string>

#include "doctor_checks.hpp"

namespace mgemm::cli {

/// Compiles the first kernel there is to machine code, past the cache; `target` "" is any. Needs NVRTC and the helper
/// program, but no device.
Compiled compile_one_kernel(const std::string& target);

/// A small product from end to end on a device (as --device names it), every bit compared with the evaluator.
Check check_product(const std::string& device);

}  // namespace mgemm::cli
