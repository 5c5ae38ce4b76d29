// Fused sums of eight columns at a time. What is rare, subnormal results and operands that are infinite or NaN, is left
// to fused_sum().
#include "numeric/fused_sum.hpp"
#include "numeric/micro_kernel.hpp"

#if defined(__AVX2__)
#include <immintrin.h>

namespace mgemm {
namespace {

constexpr std::int64_t rows = 4;
constexpr std::int64_t columns = 8;

__m256i all(int value) { return _mm256_set1_epi32(value); }

/// An operand of a step: both of exponents and significands, in the halves of each lane.
__m256i words_at(const std::uint32_t* b) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(b)); }
__m256i word_everywhere(const std::uint32_t* a) { return all(static_cast<int>(*a)); }

/// value * 2^-count, cut toward zero.
__m256i cut_right(__m256i value, __m256i count) {
  return _mm256_sign_epi32(_mm256_srlv_epi32(_mm256_abs_epi32(value), count), value);
}

/// The accumulators as significand * 2^(exponent - 23).
struct Accumulators {
  __m256i exponent, significand;
  __m256i special;  // lanes of infinities and NaNs
};

Accumulators unpack(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i field = _mm256_and_si256(_mm256_srli_epi32(bits, 23), all(0xff));
  const __m256i hidden = _mm256_and_si256(_mm256_cmpgt_epi32(field, all(0)), all(0x800000));
  const __m256i magnitude = _mm256_or_si256(_mm256_and_si256(bits, all(0x7fffff)), hidden);
  const __m256i real = _mm256_sub_epi32(_mm256_max_epi32(field, all(1)), all(127));
  const __m256i is_zero = _mm256_cmpeq_epi32(magnitude, all(0));
  return {_mm256_blendv_epi8(real, all(2 * zero_exponent), is_zero),
          _mm256_sign_epi32(magnitude, _mm256_or_si256(bits, all(1))), _mm256_cmpeq_epi32(field, all(0xff))};
}

/// Four lanes of (products + accumulator) * 2^unit with 24 significant bits, cut toward zero.
__m256d add_and_scale(__m128i products, __m128i accumulator, __m128i unit) {
  const __m256d sum = _mm256_add_pd(_mm256_cvtepi32_pd(products), _mm256_cvtepi32_pd(accumulator));
  const __m128i field = _mm_add_epi32(unit, _mm_set1_epi32(1023));
  const __m256i power = _mm256_slli_epi64(_mm256_cvtepi32_epi64(field), 52);
  const __m256d value = _mm256_mul_pd(sum, _mm256_castsi256_pd(power));
  const __m256i kept = _mm256_set1_epi64x(-(std::int64_t{1} << 29));
  return _mm256_and_pd(value, _mm256_castsi256_pd(kept));
}

/// Whether one of the values is smaller than every normal f32, and not zero.
int has_subnormal(__m256d values) {
  const __m256d magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), values);
  const __m256d small = _mm256_cmp_pd(magnitude, _mm256_set1_pd(0x1p-126), _CMP_LT_OQ);
  const __m256d some = _mm256_cmp_pd(magnitude, _mm256_setzero_pd(), _CMP_GT_OQ);
  return _mm256_movemask_pd(_mm256_and_pd(small, some));
}

[[gnu::noinline]] __m256 by_lane(FusedSum parameters, __m256 values, const std::uint32_t* a, const std::uint32_t* b) {
  alignas(32) float lanes[columns];
  _mm256_store_ps(lanes, values);
  for (std::int64_t j = 0; j < columns; ++j) lanes[j] = fused_sum(parameters, lanes[j], a, rows, b + j, columns);
  return _mm256_load_ps(lanes);
}

/// One step of a row of the tile.
template <int terms, int fraction>
__m256 step(__m256 values, const std::uint32_t* a, const std::uint32_t* b) {
  // Adding the halves of words adds exponents; they are compared where they are.
  __m256i largest = _mm256_set1_epi16(-32768);
#pragma GCC unroll 16
  for (int i = 0; i < terms; ++i) {
    const __m256i sum = _mm256_add_epi16(word_everywhere(a + i * rows), words_at(b + i * columns));
    largest = _mm256_max_epi16(largest, sum);
  }
  largest = _mm256_srai_epi32(largest, 16);
  const Accumulators start = unpack(values);
  const __m256i special = _mm256_or_si256(start.special, _mm256_cmpgt_epi32(largest, all(least_special_sum - 1)));
  largest = _mm256_max_epi32(_mm256_max_epi32(largest, start.exponent), all(least_alignment));

  const __m256i reach = _mm256_add_epi32(largest, all(product_fraction - fraction));
  // 16 products of less than 2^27 stay below 2^31, because significands stop short of 2.
  __m256i products = all(0);
#pragma GCC unroll 16
  for (int i = 0; i < terms; ++i) {
    const __m256i a_i = word_everywhere(a + i * rows);
    const __m256i b_i = words_at(b + i * columns);
    const __m256i exponent = _mm256_srai_epi32(_mm256_add_epi16(a_i, b_i), 16);
    const __m256i product = _mm256_madd_epi16(_mm256_and_si256(a_i, all(0xffff)), b_i);
    products = _mm256_add_epi32(products, cut_right(product, _mm256_sub_epi32(reach, exponent)));
  }
  const __m256i accumulator =
      cut_right(_mm256_slli_epi32(start.significand, product_fraction - 23), _mm256_sub_epi32(reach, start.exponent));

  const __m256i unit = _mm256_sub_epi32(largest, all(fraction));
  const __m256d low = add_and_scale(_mm256_castsi256_si128(products), _mm256_castsi256_si128(accumulator),
                                    _mm256_castsi256_si128(unit));
  const __m256d high = add_and_scale(_mm256_extracti128_si256(products, 1), _mm256_extracti128_si256(accumulator, 1),
                                     _mm256_extracti128_si256(unit, 1));
  const int rare = _mm256_movemask_epi8(special) | has_subnormal(low) | has_subnormal(high);
  if (rare != 0) return by_lane({terms, fraction}, values, a, b);
  return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

template <Arithmetic arithmetic>
void run(std::int64_t steps, const void* packed_a, const void* packed_b, float* tile) {
  constexpr FusedSum parameters = fused_sums[static_cast<int>(arithmetic)];
  const auto* a = static_cast<const std::uint32_t*>(packed_a);
  const auto* b = static_cast<const std::uint32_t*>(packed_b);
  __m256 sums[rows];
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < rows; ++i) sums[i] = _mm256_load_ps(tile + i * columns);
  for (std::int64_t r = 0; r < steps; r += parameters.terms) {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows; ++i) {
      sums[i] = step<parameters.terms, parameters.fraction>(sums[i], a + r * rows + i, b + r * columns);
    }
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < rows; ++i) _mm256_store_ps(tile + i * columns, sums[i]);
}

// By Arithmetic.
constexpr MicroKernel kernels[]{{0, 0, nullptr},
                                {rows, columns, run<Arithmetic::l16f25>},
                                {rows, columns, run<Arithmetic::l8f25>},
                                {rows, columns, run<Arithmetic::l8f24>},
                                {rows, columns, run<Arithmetic::l4f24>}};

}  // namespace

const MicroKernel* avx2_fused_kernel(Arithmetic arithmetic) { return &kernels[static_cast<int>(arithmetic)]; }

}  // namespace mgemm

#endif
