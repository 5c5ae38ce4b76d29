#pragma once
#include "compile/artifact.hpp"
#include "device/cuda_device.hpp"

namespace mgemm {

/// A module in a CUDA context, and the code it is.
struct LoadedModule {
  cuda::Module module = nullptr;
  ArtifactIdentity identity;
  Kind kind = Kind::ptx;
  Digest code{};    // of its bytes
  std::string log;  // the assembler's in verbose mode: NVRTC's for machine code, the driver's for PTX
};

/// Loads a module into the device's CUDA context: its machine code if there is some in the cache; else both kinds are
/// made, side by side, and the machine code is taken if that succeeded and the driver takes it. What the driver refuses
/// is dropped from the cache and the PTX taken this once. Errors: those of ptx_of(), and the driver's.
LoadedModule load_module(CudaDevice& device, const ModuleRequest& request);

}  // namespace mgemm
