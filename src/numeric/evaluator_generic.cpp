#include <cmath>

#include "numeric/micro_kernel.hpp"

namespace mgemm {
namespace {

constexpr int rows = 4;
constexpr int columns = 8;

void run(std::int64_t steps, const float* a, const float* b, float* tile) {
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

constexpr MicroKernel kernel{rows, columns, run};

}  // namespace

const MicroKernel* generic_micro_kernel() { return &kernel; }

}  // namespace mgemm
