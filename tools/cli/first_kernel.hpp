#pragma once
#include <cstdint>
#include <string>

#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli {

/// Calls `visit(const mgemm_kernel_info&)` for the first kernel alone, past the cache.
template <typename Visit>
void for_first_kernel(const std::string& targets, bool compile, Visit&& visit) {
  struct Call {
    Visit& visit;
  } call{visit};
  const auto once = [](const mgemm_kernel_info* kernel, void* user) -> std::int32_t {
    static_cast<Call*>(user)->visit(*kernel);
    return 1;
  };
  const mgemm_status status = mgemm_kernels(targets.c_str(), compile ? 1 : 0, 1, "off", once, &call);
  if (status != MGEMM_CANCELLED) mamba_gemm::check(status);
}

}  // namespace mgemm::cli
