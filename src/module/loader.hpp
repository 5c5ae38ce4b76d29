#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "catalogue/catalogue.hpp"
#include "compile/artifact.hpp"
#include "device/cuda_device.hpp"
#include "module/resources.hpp"

namespace mgemm {

enum class KernelState {
  usable,
  excluded,  // it does not fit, spills, or is missing
  broken,    // it does not compute its contract
  failed,    // its module cannot be compiled, or the driver refuses it
};

/// As descriptions spell it.
std::string_view to_string(KernelState state);

/// How the kernels of a module came to be known as good.
struct Qualification {
  bool by_verdict = false;  // of an earlier start; else they ran their probes
  double milliseconds = 0;  // that it took
};

/// A kernel of a module that is loaded in a CUDA context.
struct LoadedKernel {
  cuda::Function function = nullptr;
  std::shared_ptr<const ArtifactIdentity> artifact;  // of its module
  ResourceFacts resources;
  KernelState state = KernelState::usable;
  Qualification qualification;  // of its module
  std::string reason;           // why it must not be used
  Status failure = MGEMM_OK;    // of its module; with the driver's or NVRTC's code
  int failure_code = 0;
};

/// The kernel of a row in the device's CUDA context, its module compiled (through the cache folder, "" for none),
/// loaded, admitted and qualified on first need. Modules are never unloaded while their CUDA context lives. A module
/// that cannot be made is not tried again in that context; every other failure is thrown, and the next caller tries
/// again. Any number of threads.
LoadedKernel load_kernel(CudaDevice& device, const KernelRow& row, const std::string& cache_directory);

}  // namespace mgemm
