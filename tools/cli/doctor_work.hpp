// What `mamba-gemm doctor` tries out, through the library.
#pragma once
#include <string>
#include <vector>

#include "doctor_checks.hpp"

namespace mgemm::cli {

/// Compiles the first kernel there is to machine code, past the cache; `target` "" is any. Needs NVRTC and the helper
/// program, but no device.
Compiled compile_one_kernel(const std::string& target);

/// Small products from end to end on a device (as --device names it), in f32 and on its tensor cores, every bit
/// compared with the evaluator. Tensor cores whose arithmetic no contract has are only a note.
std::vector<Check> check_products(const std::string& device);

}  // namespace mgemm::cli
