// TF32's weight of a forward product, by way of registers: tensor cores take words from shared memory only where they
// lie along the reduction, and those of a weight lie along the columns. So the output is computed transposed, its
// columns as the tensor cores' rows, for which registers will do.
#pragma once
#include "output_four.cuh"
#include "shared_memory.cuh"
#include "shuffle.cuh"

namespace mgemm_kernel {

// Which of 64 columns a lane has: this one, and the one 4 further on as the tensor cores' row 8 further down. Of a
// step's line of 32 words, permuted by the copy engine, four lanes' steps of eight such columns lie in different banks.
__device__ __forceinline__ unsigned column_of_lane() {
  const unsigned warp = threadIdx.x % 128 / 32;
  const unsigned lane = threadIdx.x % 32;
  return warp / 2 * 32 + warp % 2 * 8 + lane / 16 * 16 + lane / 4 % 4;
}

// A lane's view of 64 columns of a stage, which has panels of 32 columns, a line of 128 bytes for each of STEPS steps.
template <int STEPS>
struct RegisterOperand {
  static constexpr int kPanelBytes = STEPS * 128;
  unsigned at[4];  // addresses at steps lane % 4 and 4 later, of either column

  // `shared` is the address of the columns' first panel in stage 0.
  __device__ __forceinline__ explicit RegisterOperand(unsigned shared) {
    const unsigned column = column_of_lane();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned step = threadIdx.x % 4 + i / 2 * 4;
      const unsigned mine = column + i % 2 * 4;
      at[i] = shared + mine / 32 * kPanelBytes + step * 128 + (mine % 32 / 4 ^ step) * 16 + mine % 4 * 4;
    }
  }

  // 8 steps, from 8 * group on; `bytes` further on in shared memory.
  __device__ __forceinline__ void load(unsigned (&values)[4], int group, unsigned bytes) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) values[i] = load_shared(at[i] + bytes + group * (8 * 128));
  }
};

// A warp group's sums, transposed: of each of 8 rows side by side a lane has 2 * (lane % 4) and the next, of both its
// columns. `row` and `column` are the output's for the group's first sum; what does not exist is neither read nor
// written.
template <int ROWS>
__device__ __forceinline__ void store_transposed(const GemmParams& p, const float (&sum)[ROWS / 2], unsigned row,
                                                 unsigned column) {
  static_assert(ROWS % 16 == 0, "pairs of eight rows");
  constexpr int kMost = 4;
  constexpr int kTogether = ROWS / 16 % kMost == 0 ? kMost
                            : ROWS / 16 % 2 == 0   ? 2
                                                   : 1;  // read before the first is written
  const bool vectors = has_vector_rows<F32, 4>(p);
  const bool plain = is_plain(p);
  // After the exchange four lanes have the rows that one had, and two a sector of 8 columns, and one 16 further on.
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x % 128 / 32;
  row += lane / 8 % 2 * 8 + lane % 4 * 2 + lane / 4 % 2;
  column += warp / 2 * 32 + warp % 2 * 8 + lane / 16 * 4;
#pragma unroll
  for (int first = 0; first < ROWS / 16; first += kTogether) {
    OutputFour old[kTogether][2] = {};
    if (reads_output(p)) {
#pragma unroll
      for (int i = 0; i < 2 * kTogether; ++i) {
        old[i / 2][i % 2].read(p, row + (first + i / 2) * 16, column + i % 2 * 16, vectors);
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      OutputFour result[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int j = 0; j < 4; ++j) result[half].at[j] = sum[(first + i) * 8 + j / 2 * 4 + half * 2 + j % 2];
        transpose_fours(result[half].at, 4);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) exchange(result[0].at[j], result[1].at[j], 16);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (!plain) result[half].finish(p, column + half * 16, old[i][half]);
        result[half].write(p, row + (first + i) * 16, column + half * 16, vectors);
      }
    }
  }
}

}  // namespace mgemm_kernel
