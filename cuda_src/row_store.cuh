// Output rows of a warp that holds them as wgmma leaves them.
#pragma once
#include "output_four.cuh"
#include "shared_memory.cuh"
#include "shuffle.cuh"
#include "tensor_copy.cuh"

namespace mgemm_kernel {

// A warp's 16 rows and COLUMNS columns, of which a lane holds two, `lane % 4 * 2` and the next, of row `lane / 4` and
// of the row 8 further down, in every 8 columns. `row` and `column` are the output's for the warp's first element; what
// does not exist is neither read nor written. SUMS are how many a lane has in all. Halves go by way of shared
// memory: the copy engine takes them from there in panels, which it expects permuted as it permutes them itself.
template <int OUT, int COLUMNS, int SUMS>
struct RowStore {
  using Bits = typename OutputElement<OUT>::Bits;
  static constexpr int kLineBytes = panel_bytes(2 * COLUMNS);
  static constexpr int kLineColumns = kLineBytes / 2;
  static constexpr int kPanelBytes = 16 * kLineBytes;
  // Two panels: one is written while the other is read.
  static constexpr int kBytes = 2 * 16 * 128;
  static_assert(kLineColumns % 16 == 0, "whole products");

  const TensorParams& params;
  unsigned place;      // address of the warp's part of shared memory
  unsigned panel = 0;  // which of the two is next

  // Whether the copy engine can write the output. It writes whole 16 bytes: an H200 writes past the end of a row that
  // ends within some.
  __device__ static __forceinline__ bool has_map(const GemmParams& p) {
    return has_vector_rows<OUT, 8>(p) && p.columns % 8 == 0;
  }

  __device__ __forceinline__ void store(const float (&sum)[COLUMNS / 2], unsigned row, unsigned column) {
    const GemmParams& p = params.gemm;
    if (!has_map(p)) return store_without_map(sum, row, column);
    const bool plain = is_plain(p);
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int first = 0; first < COLUMNS; first += kLineColumns) {
      const unsigned to = place + panel * kPanelBytes;
      if (lane == 0) stores_wait<1>();
      __syncwarp();
      if (plain) {
#pragma unroll
        for (int i = 0; i < kLineColumns / 8; ++i) {
          const float* const values = sum + first / 2 + 4 * i;
          write(to, lane, i, 0, values[0], values[1]);
          write(to, lane, i, 1, values[2], values[3]);
        }
      } else {
        finish(p, sum + first / 2, row + lane / 4, column + first + lane % 4 * 2, to, lane);
      }
      publish_to_copies();
      __syncwarp();
      if (lane == 0) {
        tensor_store(params.out, to, static_cast<int>(column + first), static_cast<int>(row));
        stores_commit();
      }
      panel ^= 1;
    }
  }

  // The warp's part of shared memory is not read any more.
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x % 32 == 0) stores_wait<0>();
  }

 private:
  // Two elements side by side, in the i-th eight columns of a panel, 8 * half rows further down than the lane's first.
  __device__ static __forceinline__ void write(unsigned to, unsigned lane, int i, int half, float x, float y) {
    constexpr int kChunks = kLineBytes / 16;
    const unsigned line = lane / 4;
    const unsigned byte = 16 * i + lane % 4 * 4;
    // Of the 8 rows further down the same bits are permuted.
    const unsigned chunk = byte / 16 ^ line * kLineBytes / 128 % kChunks;
    const unsigned at = to + (line + 8 * half) * kLineBytes + chunk * 16 + byte % 16;
    store_shared(at, to_halves<OUT>(x, y));
  }

  __device__ static __forceinline__ void finish(const GemmParams& p, const float* sum, unsigned row, unsigned column,
                                                unsigned to, unsigned lane) {
    using Pair = OutputPair<OUT>;
    constexpr int kTogether = 2;  // are read before the first is written
    const unsigned columns = static_cast<unsigned>(p.columns);
    const auto* const out = static_cast<const Bits*>(p.out) + row * p.ldout + column;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int first = 0; first < kLineColumns / 8; first += kTogether) {
        Pair old[kTogether] = {};
        float bias[kTogether][2];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const unsigned at = column + 8 * (first + i);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            bias[i][j] = p.bias != nullptr && at + j < columns ? p.bias[at + j] : -0.0f;
          }
          if (!reads_output(p) || row + 8 * half >= static_cast<unsigned>(p.rows)) continue;
          const Bits* const from = out + 8 * half * p.ldout + 8 * (first + i);
          if (at + 1 < columns) {
            old[i] = Pair::read(from);
          } else if (at < columns) {
            old[i].at[0] = *from;
          }
        }
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const float* const values = sum + 4 * (first + i) + 2 * half;
          write(to, lane, first + i, half, epilogue(p, values[0], bias[i][0], old[i].get(0)),
                epilogue(p, values[1], bias[i][1], old[i].get(1)));
        }
      }
    }
  }

  // An output that the copy engine cannot write. Of 16 rows and 16 columns at a time every lane gets elements below
  // each other. Lines are padded so that neither way meets in a bank.
  __device__ __forceinline__ void store_without_map(const float (&sum)[COLUMNS / 2], unsigned row, unsigned column) {
    constexpr int kPaddedBytes = 96;
    const GemmParams& p = params.gemm;
    const unsigned lane = threadIdx.x % 32;
    const unsigned mine = place + lane / 4 * kPaddedBytes + lane % 4 * 8;
#pragma unroll
    for (int first = 0; first < COLUMNS; first += 16) {
      const float* const part = sum + first / 2;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        store_pair(mine + 32 * i, part[4 * i], part[4 * i + 1]);
        store_pair(mine + 32 * i + 8 * kPaddedBytes, part[4 * i + 2], part[4 * i + 3]);
      }
      __syncwarp();
      // The rarest case: let it be short.
#pragma unroll 1
      for (int i = 0; i < 8; ++i) {
        const unsigned line = 2 * i + lane / 16;
        OutputPiece<OUT, 1> piece;
        piece.load(p, row + line, column + first + lane % 16, true);
        const float value[1] = {load_shared_float(place + line * kPaddedBytes + lane % 16 * 4)};
        piece.store(p, value);
      }
      __syncwarp();
    }
  }
};

// f32 goes straight from registers: a lane gets four elements side by side.
template <int COLUMNS, int SUMS>
struct RowStore<F32, COLUMNS, SUMS> {
  static constexpr int kBytes = 0;  // of shared memory

  const TensorParams& params;
  unsigned place;

  __device__ __forceinline__ void store(const float (&sum)[COLUMNS / 2], unsigned row, unsigned column) const {
    const GemmParams& p = params.gemm;
    // Old elements are read for so many times 16 columns before the first is written, as registers allow.
    constexpr int kMost = SUMS > 160 ? 1 : 4;
    constexpr int kAhead = COLUMNS / 16 % kMost == 0 ? kMost : COLUMNS / 16 % 2 == 0 && kMost > 1 ? 2 : 1;
    const bool vectors = has_vector_rows<F32, 4>(p);
    const bool plain = is_plain(p);
    row += threadIdx.x % 32 / 4;
    column += threadIdx.x % 4 * 4;
#pragma unroll
    for (int first = 0; first < COLUMNS; first += 16 * kAhead) {
      OutputFour old[kAhead][2] = {};
      if (reads_output(p)) {
#pragma unroll
        for (int i = 0; i < 2 * kAhead; ++i) {
          old[i / 2][i % 2].read(p, row + i % 2 * 8, column + first + i / 2 * 16, vectors);
        }
      }
#pragma unroll
      for (int i = 0; i < 2 * kAhead; ++i) {
        const unsigned at = first + i / 2 * 16;
        OutputFour result;
#pragma unroll
        for (int j = 0; j < 4; ++j) result.at[j] = sum[at / 2 + j / 2 * 4 + i % 2 * 2 + j % 2];
        make_fours(result.at);
        if (!plain) result.finish(p, column + at, old[i / 2][i % 2]);
        result.write(p, row + i % 2 * 8, column + at, vectors);
      }
    }
  }

  __device__ __forceinline__ void wait() const {}
};

}  // namespace mgemm_kernel
