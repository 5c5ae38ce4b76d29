// The library's own CUDA sources with one fault each, for qualification to find on a real board.
#pragma once
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/embedded.hpp"

namespace mgemm::test {

/// In `file` the text `from`, which is there once, becomes `to`.
struct Edit {
  std::string_view file, from, to;
};

/// The second warp comes long after the others: a barrier keeps that from mattering, and nothing else does.
constexpr Edit late_warp{"f32_tile.cuh", "const TilePosition at = tile_position<BM, BN>(p, blockIdx.x);",
                         "const TilePosition at = tile_position<BM, BN>(p, blockIdx.x);\n"
                         "    for (int nap = 0; nap < 4 && threadIdx.x / 32 == 1; ++nap) __nanosleep(100000);"};
constexpr Edit no_barrier{"f32_tile.cuh", "__syncthreads();", ""};
/// The last row and the last column of a full tile are taken for zeros.
constexpr Edit short_tile{"f32_operand.cuh", "static_cast<int>(extent - first) : EXTENT;",
                          "static_cast<int>(extent - first) : EXTENT - 1;"};
/// Subnormal inputs and sums are flushed.
constexpr Edit flushing{"f32_tile.cuh", "sum[x][y] = __fmaf_rn(a[x], b[y], sum[x][y]);",
                        "asm(\"fma.rn.ftz.f32 %0, %1, %2, %0;\" : \"+f\"(sum[x][y]) : \"f\"(a[x]), \"f\"(b[y]));"};

struct EditedKernels {
  const char* name;
  std::vector<Edit> edits;
  bool is_sound;
};

inline std::vector<EditedKernels> edited_kernels() {
  return {{"as they are", {}, true},
          {"a late warp, with the barrier", {late_warp}, true},
          {"a late warp, without it", {late_warp, no_barrier}, false},
          {"wrong at one edge of a tile", {short_tile}, false},
          {"wrong for subnormals alone", {flushing}, false}};
}

/// The embedded sources with edits.
class EditedSources {
 public:
  explicit EditedSources(std::span<const Edit> edits) {
    for (const EmbeddedFile& file : embedded_files()) texts_.emplace_back(file.text);
    for (const Edit& edit : edits) apply(edit);
    for (std::size_t i = 0; i < texts_.size(); ++i) files_.push_back({embedded_files()[i].name, texts_[i]});
  }
  std::span<const EmbeddedFile> files() const { return files_; }

 private:
  void apply(const Edit& edit) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (embedded_files()[i].name != edit.file) continue;
      const std::size_t at = texts_[i].find(edit.from);
      if (at == std::string::npos || texts_[i].find(edit.from, at + 1) != std::string::npos) break;
      texts_[i].replace(at, edit.from.size(), edit.to);
      return;
    }
    throw std::logic_error("'" + std::string(edit.from) + "' is not there exactly once: the sources have changed");
  }

  std::vector<std::string> texts_;
  std::vector<EmbeddedFile> files_;
};

/// One for each operation, with and without slices.
constexpr std::array edited_symbols{"mgemm_f32_nn_single_a16_square", "mgemm_f32_nn_sliced_a4_small",
                                    "mgemm_f32_tn_sliced_a16_square", "mgemm_f32_nt_single_a4_thin8"};

}  // namespace mgemm::test
