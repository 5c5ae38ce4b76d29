#pragma once
#include <span>
#include <string_view>

#include "gemm_params.h"

namespace mgemm::host {

/// A kernel of the catalogue, compiled for the host.
struct Kernel {
  std::string_view symbol;
  void (*run)(const mgemm_kernel::TensorParams&);  // one thread
};
std::span<const Kernel> kernels();

}  // namespace mgemm::host
