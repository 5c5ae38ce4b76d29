#pragma once
#include <cstdint>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"
#include "operands.hpp"
#include "progress.hpp"

namespace mgemm::cli {

/// A product that was run, and what ran it.
struct Computed {
  mgemm_device_info device{};
  mgemm_description description{};
  std::vector<double> seconds;  // of each timed run
  Array out;                    // of the last one
};

/// Runs the product `repeat` times on the context, each time from the same old output; `repeat` 0 is once on the
/// reference device, and ten times behind an untimed run on a GPU.
Computed compute(mamba_gemm::Context& context, const HostOperands& operands, std::int32_t repeat, Progress& progress);

}  // namespace mgemm::cli
