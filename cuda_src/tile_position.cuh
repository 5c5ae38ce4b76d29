// Where a tile lies.
#pragma once
#include "gemm_params.h"

namespace mgemm_kernel {

struct TilePosition {
  long long row, column;
};

// Tiles are numbered in bands of 8 tile rows, so that blocks running together share operands in L2. Every chain waits
// for this: the divisions are of 32 bits, and there are none for a single row of tiles.
template <int BM, int BN>
__device__ __forceinline__ TilePosition tile_position(const GemmParams& p, unsigned index) {
  const unsigned tile_rows = static_cast<unsigned>((p.rows + BM - 1) / BM);
  if (tile_rows == 1) return {0, static_cast<long long>(index) * BN};
  const unsigned tile_columns = static_cast<unsigned>((p.columns + BN - 1) / BN);
  // A grid has less than 2^31 tiles, so that a longer band is the only one.
  const unsigned band_tiles = tile_columns < 0x10000000u ? 8 * tile_columns : 0xffffffffu;
  const unsigned band = index / band_tiles;
  const unsigned within = index % band_tiles;
  const unsigned height = tile_rows - 8 * band < 8 ? tile_rows - 8 * band : 8;
  return {static_cast<long long>(8 * band + within % height) * BM, static_cast<long long>(within / height) * BN};
}

}  // namespace mgemm_kernel
