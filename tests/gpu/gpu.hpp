#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

namespace mgemm::test {

inline bool has_gpu() {
  std::int32_t count = 0;
  return mgemm_device_count(&count) == MGEMM_OK && count > 0;
}

/// How many random problems a test draws; MGEMM_TEST_ROUNDS lowers it for slow tools such as compute-sanitizer.
inline int rounds(int usual) {
  const char* text = std::getenv("MGEMM_TEST_ROUNDS");
  return text == nullptr ? usual : std::min(usual, std::stoi(text));
}

constexpr const char* no_gpu = "no CUDA device on this machine";

}  // namespace mgemm::test
