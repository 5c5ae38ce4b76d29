// Where a thread block's tile lies.
#pragma once
#include "gemm_params.h"

namespace mgemm_kernel {

struct TilePosition {
  long long row, column;
};

// Tiles are numbered in bands of 8 tile rows, so that blocks running together share operands in L2.
template <int BM, int BN>
__device__ __forceinline__ TilePosition tile_position(const GemmParams& p) {
  const unsigned tile_rows = static_cast<unsigned>((p.rows + BM - 1) / BM);
  const unsigned tile_columns = static_cast<unsigned>((p.columns + BN - 1) / BN);
  const unsigned long long band_tiles = 8ull * tile_columns;
  const unsigned band = static_cast<unsigned>(blockIdx.x / band_tiles);
  const unsigned within = static_cast<unsigned>(blockIdx.x % band_tiles);
  const unsigned height = tile_rows - 8 * band < 8 ? tile_rows - 8 * band : 8;
  return {static_cast<long long>(8 * band + within % height) * BM, static_cast<long long>(within / height) * BN};
}

}  // namespace mgemm_kernel
