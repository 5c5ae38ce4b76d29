#pragma once
#include <memory>
#include <string>

#include "catalogue/catalogue.hpp"
#include "compile/artifact.hpp"
#include "device/cuda_device.hpp"

namespace mgemm {

/// A kernel of a module that is loaded in a CUDA context.
struct LoadedKernel {
  cuda::Function function = nullptr;
  std::shared_ptr<const ArtifactIdentity> artifact;  // of its module
  std::string excluded;                              // why it must not be used; "" if it may
};

/// The kernel of a row in the device's CUDA context, its module compiled (through the cache folder, "" for none) and
/// loaded on first need. Modules are never unloaded while their CUDA context lives. Any number of threads.
LoadedKernel load_kernel(CudaDevice& device, const KernelRow& row, const std::string& cache_directory);

}  // namespace mgemm
