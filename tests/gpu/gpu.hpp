#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

namespace mgemm::test {

/// Why GPU tests cannot run on this machine, or nullptr if they can.
inline const char* missing() {
  static const std::string reason = [] {
    std::int32_t count = 0;
    if (mgemm_device_count(&count) != MGEMM_OK || count == 0) return std::string("no CUDA device on this machine");
    try {
      const auto gpu = mamba_gemm::Context::cuda();
      const mamba_gemm::Plan plan(gpu, mamba_gemm::parse_problem("nn:f32:1x1x1"));
    } catch (const mamba_gemm::Error& error) {
      // Anything but "not to be had here" is for the tests to fail on.
      if (error.status_class() == MGEMM_CLASS_UNSUPPORTED) return std::string(error.what());
    }
    return std::string();
  }();
  return reason.empty() ? nullptr : reason.c_str();
}

/// The reference device whose contracts are those of the board's tensor cores.
inline mamba_gemm::Context reference_of_board(std::int32_t threads = 0) {
  const auto gpu = mamba_gemm::Context::cuda();
  const mamba_gemm::Plan plan(gpu, mamba_gemm::parse_problem("nn:bf16:1x1x1"));
  return mamba_gemm::Context::reference(threads, plan.describe().profile);
}

/// How many random problems a test draws; MGEMM_TEST_ROUNDS lowers it for slow tools such as compute-sanitizer.
inline int rounds(int usual) {
  const char* text = std::getenv("MGEMM_TEST_ROUNDS");
  return text == nullptr ? usual : std::min(usual, std::stoi(text));
}

}  // namespace mgemm::test
