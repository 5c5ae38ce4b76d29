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

/// The same for tensor cores: the last row of a and the last column of b do not come.
constexpr Edit short_operand{"mma_operand.cuh", "static_cast<int>(extent - first) : EXTENT;",
                             "static_cast<int>(extent - first) : EXTENT - 1;"};
/// Words are cut off to tf32 and not rounded.
constexpr Edit not_rounded{"mma_operand.cuh", "values[i] = to_tf32(values[i]);", "static_cast<void>(values[i]);"};
/// The last steps of a reduction that ends within a stage are left out.
constexpr Edit short_end{"wgmma_tile.cuh", "group * kGroup < left; ++group", "group * kGroup < left - kGroup; ++group"};

/// One for each operation, with and without slices.
constexpr std::array<const char*, 4> f32_symbols{"mgemm_f32_nn_single_a16_square", "mgemm_f32_nn_sliced_a4_small",
                                                 "mgemm_f32_tn_sliced_a16_square", "mgemm_f32_nt_single_a4_thin8"};
constexpr std::array<const char*, 4> mma_symbols{"mgemm_bf16_nn_single_a16_large", "mgemm_f16_nt_single_a2_square",
                                                 "mgemm_bf16f32_tn_sliced_a4_slices", "mgemm_tf32_nn_single_a8_square"};
constexpr std::array<const char*, 2> tf32_symbols{"mgemm_tf32_nn_single_a8_square", "mgemm_tf32_nt_single_a16_square"};
constexpr std::array<const char*, 4> hopper_symbols{
    "mgemm_bf16_nn_single_a16_wg128x256", "mgemm_f16f32_tn_single_a16_pp128x128", "mgemm_tf32_nn_single_a16_rs128x128",
    "mgemm_bf16f32_tn_sliced_a16_wg128x192"};

struct EditedKernels {
  const char* name;
  std::vector<Edit> edits;
  bool is_sound;
  std::span<const char* const> symbols;
};

inline std::vector<EditedKernels> edited_kernels() {
  return {{"as they are", {}, true, f32_symbols},
          {"a late warp, with the barrier", {late_warp}, true, f32_symbols},
          {"a late warp, without it", {late_warp, no_barrier}, false, f32_symbols},
          {"wrong at one edge of a tile", {short_tile}, false, f32_symbols},
          {"wrong for subnormals alone", {flushing}, false, f32_symbols},
          {"on tensor cores, as they are", {}, true, mma_symbols},
          {"on tensor cores, wrong at one edge of a tile", {short_operand}, false, mma_symbols},
          {"on tensor cores, without rounding to tf32", {not_rounded}, false, tf32_symbols},
          {"on Hopper, as they are", {}, true, hopper_symbols},
          {"on Hopper, without the last steps", {short_end}, false, hopper_symbols}};
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

}  // namespace mgemm::test
