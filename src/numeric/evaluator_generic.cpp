#include <cmath>

#include "numeric/fused_sum.hpp"
#include "numeric/micro_kernel.hpp"

namespace mgemm {
namespace {

constexpr int rows = 4;
constexpr int columns = 8;

void run_fma(std::int64_t steps, const void* packed_a, const void* packed_b, float* tile) {
  const auto* a = static_cast<const float*>(packed_a);
  const auto* b = static_cast<const float*>(packed_b);
  float sums[rows][columns];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) sums[i][j] = tile[i * columns + j];
  }
  for (std::int64_t r = 0; r < steps; ++r, a += rows, b += columns) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) sums[i][j] = std::fma(a[i], b[j], sums[i][j]);
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) tile[i * columns + j] = sums[i][j];
  }
}

template <Arithmetic arithmetic>
void run_fused(std::int64_t steps, const void* packed_a, const void* packed_b, float* tile) {
  constexpr FusedSum parameters = fused_sums[static_cast<int>(arithmetic)];
  const auto* a = static_cast<const std::uint32_t*>(packed_a);
  const auto* b = static_cast<const std::uint32_t*>(packed_b);
  for (std::int64_t r = 0; r < steps; r += parameters.terms) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        tile[i * columns + j] =
            fused_sum(parameters, tile[i * columns + j], a + r * rows + i, rows, b + r * columns + j, columns);
      }
    }
  }
}

// By Arithmetic.
constexpr MicroKernel kernels[]{{rows, columns, run_fma},
                                {rows, columns, run_fused<Arithmetic::l16f25>},
                                {rows, columns, run_fused<Arithmetic::l8f25>},
                                {rows, columns, run_fused<Arithmetic::l8f24>},
                                {rows, columns, run_fused<Arithmetic::l4f24>}};

}  // namespace

const MicroKernel* generic_micro_kernel(Arithmetic arithmetic) { return &kernels[static_cast<int>(arithmetic)]; }

}  // namespace mgemm
