// A warp's part of a tensor-core tile: one chain of fused sums per element, in ascending order of the reduction.
#pragma once
#include "epilogue.cuh"
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

  // `row` and `column` are the output's for the warp's first element. A part that lies inside the output is stored
  // without a question about each of its elements.
  template <int OUT>
  __device__ static __forceinline__ void store(const GemmParams& p, const Sums& sum, long long row, long long column) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row += lane / 4;
    column += lane % 4 * 2;
    const bool vectors = has_vector_rows<OUT, 2>(p);
    if (vectors && row - lane / 4 + kRows <= p.rows && column - lane % 4 * 2 + kColumns <= p.columns) {
      store_inside<OUT>(p, sum, row, column);
    } else {
      store_edge<OUT>(p, sum, row, column, vectors);
    }
  }

 private:
  // Here `row` and `column` are the lane's first.
  template <int OUT>
  __device__ static __forceinline__ void store_inside(const GemmParams& p, const Sums& sum, long long row,
                                                      long long column) {
    using Piece = OutputPair<OUT>;
    typename Piece::Bits* out = static_cast<typename Piece::Bits*>(p.out) + row * p.ldout + column;
    float bias[COLUMN_BLOCKS][2];
#pragma unroll
    for (int y = 0; y < COLUMN_BLOCKS; ++y) {
#pragma unroll
      for (int i = 0; i < 2; ++i) bias[y][i] = p.bias != nullptr ? p.bias[column + 8 * y + i] : -0.0f;
    }
#pragma unroll
    for (int half = 0; half < 2 * ROW_BLOCKS; ++half) {
      // All reads of a row before its first write, which the compiler may not move them across.
      Piece old[COLUMN_BLOCKS] = {};
      if (reads_output(p)) {
#pragma unroll
        for (int y = 0; y < COLUMN_BLOCKS; ++y) old[y] = Piece::read(out + 8 * y);
      }
#pragma unroll
      for (int y = 0; y < COLUMN_BLOCKS; ++y) {
        Piece result;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          result.set(i, epilogue(p, sum[half / 2][y][half % 2 * 2 + i], bias[y][i], old[y].get(i)));
        }
        result.write(out + 8 * y);
      }
      out += 8 * p.ldout;
    }
  }

  template <int OUT>
  __device__ static __forceinline__ void store_edge(const GemmParams& p, const Sums& sum, long long row,
                                                    long long column, bool vectors) {
#pragma unroll
    for (int half = 0; half < 2 * ROW_BLOCKS; ++half) {
      OutputPiece<OUT, 2> pieces[COLUMN_BLOCKS];
#pragma unroll
      for (int y = 0; y < COLUMN_BLOCKS; ++y) pieces[y].load(p, row + 8 * half, column + 8 * y, vectors);
#pragma unroll
      for (int y = 0; y < COLUMN_BLOCKS; ++y) {
        const float pair[2] = {sum[half / 2][y][half % 2 * 2], sum[half / 2][y][half % 2 * 2 + 1]};
        pieces[y].store(p, pair);
      }
    }
  }
};

}  // namespace mgemm_kernel
