// A warp's part of a tensor-core tile: one chain of fused sums per element, in ascending order of the reduction.
#pragma once
#include "mma_operand.cuh"

namespace mgemm_kernel {

// ROW_BLOCKS times 16 rows, and COLUMN_BLOCKS times 8 columns. A and B are the tile's MmaOperands.
template <int TYPE, class A, class B, int ROW_BLOCKS, int COLUMN_BLOCKS>
struct MmaWarp {
  static constexpr int kRows = 16 * ROW_BLOCKS;
  static constexpr int kColumns = 8 * COLUMN_BLOCKS;
  using Sums = float[ROW_BLOCKS][COLUMN_BLOCKS][4];

  // Columns come in eights, two of them at a time where that goes without a rest.
  static constexpr int kTogether = COLUMN_BLOCKS % 2 == 0 ? 2 : 1;

  using ReaderA = typename A::template Reader<ROW_BLOCKS, 16, 1>;
  using ReaderB = typename B::template Reader<COLUMN_BLOCKS / kTogether, 8 * kTogether, 2>;

  // Where the warp reads, in a stage that holds a and then b; `row` and `column` are the warp's first.
  struct Readers {
    ReaderA a;
    ReaderB b;

    __device__ __forceinline__ Readers(unsigned stage, int row, int column)
        : a(stage, row), b(stage + A::kBytes, column) {}
    __device__ __forceinline__ void move(unsigned bytes) {
      a.move(bytes);
      b.move(bytes);
    }
  };

  // What the warp multiplies in one step of its chains.
  struct Fragments {
    unsigned a[ROW_BLOCKS][4];
    unsigned b[COLUMN_BLOCKS / kTogether][4];

    // `group` is a constant where it is called.
    __device__ __forceinline__ void load(const Readers& from, int group) {
#pragma unroll
      for (int x = 0; x < ROW_BLOCKS; ++x) from.a.load(a[x], x, group);
#pragma unroll
      for (int y = 0; y < COLUMN_BLOCKS / kTogether; ++y) from.b.load(b[y], y, group);
    }
    __device__ __forceinline__ void multiply(Sums& sum) const {
#pragma unroll
      for (int y = 0; y < COLUMN_BLOCKS; ++y) {
        const unsigned* const columns = b[y / kTogether] + 2 * (y % kTogether);
#pragma unroll
        for (int x = 0; x < ROW_BLOCKS; ++x) mma<TYPE>(sum[x][y], a[x], columns[0], columns[1]);
      }
    }
  };
};

}  // namespace mgemm_kernel
