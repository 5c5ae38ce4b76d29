#pragma once
#include <string>

#include "catalogue/catalogue.hpp"
#include "device/cuda_device.hpp"
#include "numeric/contract.hpp"

namespace mgemm {

/// Runs a kernel that is loaded in the device's context on all its probes (module/probe.hpp), on a stream nobody else
/// sees, and compares bits with the evaluator by the contracts of `set`. "", or the first difference, or that the
/// driver will not launch it with its sizes. Every other error of the driver is thrown.
std::string qualify(CudaDevice& device, const KernelRow& row, const TensorSet& set, cuda::Function function);

}  // namespace mgemm
