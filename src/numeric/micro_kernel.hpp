// Included by files compiled for instruction sets the processor may lack: nothing here or in what it includes may be an
// inline function, or the linker could pick that file's copy for everybody.
#pragma once
#include <cstdint>

namespace mgemm {

/// The inner loop of the evaluator: for r in 0 .. steps - 1, in this order, for every i < rows and j < columns
///   tile[i * columns + j] = fma32(a[r * rows + i], b[r * columns + j], tile[i * columns + j]).
/// b and tile are aligned to a row of the tile, 64 bytes at most.
struct MicroKernel {
  int rows, columns;
  void (*run)(std::int64_t steps, const float* a, const float* b, float* tile);
};

/// nullptr where the library was not built for that instruction set.
const MicroKernel* generic_micro_kernel();
const MicroKernel* avx2_micro_kernel();
const MicroKernel* avx512_micro_kernel();

}  // namespace mgemm
