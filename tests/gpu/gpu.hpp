#pragma once
#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

namespace mgemm::test {

inline bool has_gpu() {
  std::int32_t count = 0;
  return mgemm_device_count(&count) == MGEMM_OK && count > 0;
}

constexpr const char* no_gpu = "no CUDA device on this machine";

}  // namespace mgemm::test
