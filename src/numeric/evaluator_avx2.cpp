#include "numeric/micro_kernel.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

namespace mgemm {
namespace {

// 6 x 16: twelve accumulators, which hide the latency of two FMA units, two registers of b and one of a.
constexpr std::int64_t rows = 6;
constexpr std::int64_t columns = 16;

void run(std::int64_t steps, const void* packed_a, const void* packed_b, float* tile) {
  const auto* a = static_cast<const float*>(packed_a);
  const auto* b = static_cast<const float*>(packed_b);
  __m256 low[rows];
  __m256 high[rows];
#pragma GCC unroll 6
  for (std::int64_t i = 0; i < rows; ++i) {
    low[i] = _mm256_load_ps(tile + i * columns);
    high[i] = _mm256_load_ps(tile + i * columns + 8);
  }
  for (std::int64_t r = 0; r < steps; ++r, a += rows, b += columns) {
    const __m256 b_low = _mm256_load_ps(b);
    const __m256 b_high = _mm256_load_ps(b + 8);
#pragma GCC unroll 6
    for (std::int64_t i = 0; i < rows; ++i) {
      const __m256 a_i = _mm256_broadcast_ss(a + i);
      low[i] = _mm256_fmadd_ps(a_i, b_low, low[i]);
      high[i] = _mm256_fmadd_ps(a_i, b_high, high[i]);
    }
  }
#pragma GCC unroll 6
  for (std::int64_t i = 0; i < rows; ++i) {
    _mm256_store_ps(tile + i * columns, low[i]);
    _mm256_store_ps(tile + i * columns + 8, high[i]);
  }
}

constexpr MicroKernel kernel{rows, columns, run};

}  // namespace

const MicroKernel* avx2_micro_kernel(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fma32 ? &kernel : avx2_fused_kernel(arithmetic);
}

}  // namespace mgemm

#else

namespace mgemm {
const MicroKernel* avx2_micro_kernel(Arithmetic) { return nullptr; }
}  // namespace mgemm

#endif
