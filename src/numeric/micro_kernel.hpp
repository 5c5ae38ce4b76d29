// Included by files compiled for instruction sets the processor may lack: nothing here or in what it includes may be an
// inline function, or the linker could pick that file's copy for everybody.
#pragma once
#include <cstdint>

#include "numeric/arithmetic.hpp"

namespace mgemm {

/// The inner loop of the evaluator: continues the chains of a tile of rows x columns elements by `steps` steps in
/// ascending order. With fma32, for r in 0 .. steps - 1 and every i < rows and j < columns
///   tile[i * columns + j] = fma32(a[r * rows + i], b[r * columns + j], tile[i * columns + j])
/// where a and b are floats; otherwise each L steps are one fused sum of words (fused_sum.hpp), and steps is a multiple
/// of L. b and tile are aligned to a row of the tile, 64 bytes at most.
struct MicroKernel {
  int rows, columns;
  void (*run)(std::int64_t steps, const void* a, const void* b, float* tile);
};

/// nullptr where the library was not built for that instruction set.
const MicroKernel* generic_micro_kernel(Arithmetic arithmetic);
const MicroKernel* avx2_micro_kernel(Arithmetic arithmetic);
const MicroKernel* avx512_micro_kernel(Arithmetic arithmetic);
/// avx2_micro_kernel() for fused sums.
const MicroKernel* avx2_fused_kernel(Arithmetic arithmetic);

}  // namespace mgemm
