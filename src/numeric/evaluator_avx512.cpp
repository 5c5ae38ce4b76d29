#include "numeric/micro_kernel.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>

namespace mgemm {
namespace {

// 12 x 32: twenty-four accumulators and two registers of b; a is broadcast straight from memory.
constexpr std::int64_t rows = 12;
constexpr std::int64_t columns = 32;

void run(std::int64_t steps, const void* packed_a, const void* packed_b, float* tile) {
  const auto* a = static_cast<const float*>(packed_a);
  const auto* b = static_cast<const float*>(packed_b);
  __m512 low[rows];
  __m512 high[rows];
#pragma GCC unroll 12
  for (std::int64_t i = 0; i < rows; ++i) {
    low[i] = _mm512_load_ps(tile + i * columns);
    high[i] = _mm512_load_ps(tile + i * columns + 16);
  }
  for (std::int64_t r = 0; r < steps; ++r, a += rows, b += columns) {
    const __m512 b_low = _mm512_load_ps(b);
    const __m512 b_high = _mm512_load_ps(b + 16);
#pragma GCC unroll 12
    for (std::int64_t i = 0; i < rows; ++i) {
      const __m512 a_i = _mm512_set1_ps(a[i]);
      low[i] = _mm512_fmadd_ps(a_i, b_low, low[i]);
      high[i] = _mm512_fmadd_ps(a_i, b_high, high[i]);
    }
  }
#pragma GCC unroll 12
  for (std::int64_t i = 0; i < rows; ++i) {
    _mm512_store_ps(tile + i * columns, low[i]);
    _mm512_store_ps(tile + i * columns + 16, high[i]);
  }
}

constexpr MicroKernel kernel{rows, columns, run};

}  // namespace

// Fused sums spend their time on shifts of 32-bit lanes, which AVX2 has.
const MicroKernel* avx512_micro_kernel(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::fma32 ? &kernel : avx2_micro_kernel(arithmetic);
}

}  // namespace mgemm

#else

namespace mgemm {
const MicroKernel* avx512_micro_kernel(Arithmetic) { return nullptr; }
}  // namespace mgemm

#endif
