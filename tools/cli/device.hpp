#pragma once
#include <cstdint>
#include <string>

#include "mamba_gemm/mamba_gemm.hpp"
#include "operands.hpp"

namespace mgemm::cli {

/// What --device names.
struct DeviceChoice {
  enum class Kind { automatic, cuda, reference } kind = Kind::automatic;
  std::int32_t ordinal = 0;
  std::int32_t profile = MGEMM_PROFILE_SM90;  // of the reference device
};

/// auto, cuda, cuda:N, reference or reference:PROFILE; anything else is BadInput.
DeviceChoice parse_device(const std::string& text);

/// auto is the first CUDA device if there is one, else the reference device. What goes wrong on a device that was
/// chosen is an error, never a reason to take another one.
mamba_gemm::Context open_context(const DeviceChoice& choice, std::int32_t threads);

/// Operands on a device and a launch bound to them.
struct BoundProduct {
  mamba_gemm::Buffer a, b, bias, out;
  mamba_gemm::Launch launch;
};

/// Copies the operands to the context's device and prepares the launch, which may compile.
BoundProduct bind(const mamba_gemm::Context& context, const HostOperands& operands);

}  // namespace mgemm::cli
