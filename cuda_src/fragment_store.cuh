// From the sums that a warp holds, as tensor cores leave them, to the output.
#pragma once
#include "epilogue.cuh"

namespace mgemm_kernel {

// A warp's sums: blocks of 16 rows and 8 columns. A lane holds two columns, `lane % 4 * 2` and the next, of row
// `lane / 4` and of the row 8 further down.
template <int ROW_BLOCKS, int COLUMN_BLOCKS>
using FragmentSums = float[ROW_BLOCKS][COLUMN_BLOCKS][4];

// `row` and `column` are the lane's first. All that is stored exists, and rows begin at multiples of two elements.
template <int OUT, int ROW_BLOCKS, int COLUMN_BLOCKS>
__device__ __forceinline__ void store_inside(const GemmParams& p, const FragmentSums<ROW_BLOCKS, COLUMN_BLOCKS>& sum,
                                             long long row, long long column) {
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

// Few sums, every one of which is asked for its bounds.
template <int OUT, int ROW_BLOCKS, int COLUMN_BLOCKS>
__device__ __forceinline__ void store_few(const GemmParams& p, const FragmentSums<ROW_BLOCKS, COLUMN_BLOCKS>& sum,
                                          long long row, long long column, bool vectors) {
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

// Many, by way of `places` in shared memory, of which this thread has one for each of its sums, PLACE_STRIDE floats
// from one to the next: so that a loop goes over them. Without a loop most of a kernel's code would be this, the rarer
// case.
template <int OUT, int PLACE_STRIDE, int ROW_BLOCKS, int COLUMN_BLOCKS>
__device__ __forceinline__ void store_many(const GemmParams& p, const FragmentSums<ROW_BLOCKS, COLUMN_BLOCKS>& sum,
                                           long long row, long long column, bool vectors, float* places) {
  constexpr int kTogether = 4;  // are read before the first is written
  static_assert(COLUMN_BLOCKS % kTogether == 0, "whole turns");
#pragma unroll
  for (int i = 0; i < 4 * ROW_BLOCKS * COLUMN_BLOCKS; ++i) places[i * PLACE_STRIDE] = (&sum[0][0][0])[i];
#pragma unroll 1
  for (int turn = 0; turn < 2 * ROW_BLOCKS * COLUMN_BLOCKS / kTogether; ++turn) {
    const int half = turn / (COLUMN_BLOCKS / kTogether);
    const int first = turn % (COLUMN_BLOCKS / kTogether) * kTogether;
    const float* const from = places + (half / 2 * COLUMN_BLOCKS * 4 + first * 4 + half % 2 * 2) * PLACE_STRIDE;
    OutputPiece<OUT, 2> pieces[kTogether];
#pragma unroll
    for (int y = 0; y < kTogether; ++y) pieces[y].load(p, row + 8 * half, column + 8 * (first + y), vectors);
#pragma unroll
    for (int y = 0; y < kTogether; ++y) {
      const float pair[2] = {from[4 * y * PLACE_STRIDE], from[(4 * y + 1) * PLACE_STRIDE]};
      pieces[y].store(p, pair);
    }
  }
}

// How sums that are not all inside the output are stored.
template <int ROW_BLOCKS, int COLUMN_BLOCKS>
inline constexpr bool are_few = (ROW_BLOCKS * COLUMN_BLOCKS) <= 6;

// `row` and `column` are the output's for the warp's first element. A part that lies inside the output is stored
// without a question about each of its elements. `find_places` is called where many sums are not, and gives the places
// for them.
template <int OUT, int PLACE_STRIDE, int ROW_BLOCKS, int COLUMN_BLOCKS, class FIND_PLACES>
__device__ __forceinline__ void store_fragments(const GemmParams& p, const FragmentSums<ROW_BLOCKS, COLUMN_BLOCKS>& sum,
                                                long long row, long long column, FIND_PLACES find_places) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool vectors = has_vector_rows<OUT, 2>(p);
  const bool is_inside = row + 16 * ROW_BLOCKS <= p.rows && column + 8 * COLUMN_BLOCKS <= p.columns;
  row += lane / 4;
  column += lane % 4 * 2;
  if (vectors && is_inside) {
    store_inside<OUT, ROW_BLOCKS, COLUMN_BLOCKS>(p, sum, row, column);
  } else if constexpr (are_few<ROW_BLOCKS, COLUMN_BLOCKS>) {
    store_few<OUT, ROW_BLOCKS, COLUMN_BLOCKS>(p, sum, row, column, vectors);
  } else {
    store_many<OUT, PLACE_STRIDE, ROW_BLOCKS, COLUMN_BLOCKS>(p, sum, row, column, vectors, find_places());
  }
}

}  // namespace mgemm_kernel
