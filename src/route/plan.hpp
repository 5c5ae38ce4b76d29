#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda_device.hpp"
#include "kernel/describe.hpp"
#include "module/loader.hpp"

namespace mgemm {

/// A kernel that covers a problem and must not be used.
struct PassedOver {
  std::string_view kernel;
  KernelState state;
  std::string reason;
  Status failure = MGEMM_OK;  // of its module, as in LoadedKernel
  int failure_code = 0;
};

/// A problem made ready on a device: everything but addresses and a stream.
struct Plan {
  Problem problem;
  Contract contract;
  std::int32_t alignment = 0;
  std::string kernel;                            // symbol, "evaluator" or "none"
  Work work;                                     // without operands
  const KernelRow* row = nullptr;                // of a kernel
  std::shared_ptr<const ArtifactIdentity> code;  // of the kernel; nullptr if no compiled code is involved
  Qualification qualification;                   // of that code
  std::vector<PassedOver> passed_over;           // kernels that would have been chosen before
};

/// What a plan is made on.
struct PlanTarget {
  Device& device;
  CudaDevice* cuda = nullptr;  // the same device if it is a GPU
  const std::string& cache_directory;
};

/// Made with the first kernel of dispatch's order that may be used, or with `forced` if it is not null.
Plan make_plan(const PlanTarget& target, const Problem& problem, std::int32_t alignment,
               const KernelRow* forced = nullptr);

/// The plan's work on operands that have been checked. `device` is the GPU it will run on, if it is for one.
Work bind_work(const Plan& plan, const mgemm_operands& operands, const CudaDevice* device);

}  // namespace mgemm
