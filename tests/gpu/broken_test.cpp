// That qualification finds real faults of real kernels on this board, by the first element that differs.
#include "support/broken_kernels.hpp"

#include <string>

#include "context/context.hpp"
#include "device/current_context.hpp"
#include "gpu/edited_kernel.hpp"
#include "gpu/gpu.hpp"
#include "module/qualify.hpp"
#include "route/dispatch.hpp"

using namespace mgemm;
using namespace mgemm::test;

// Catches probes that a kernel passes although it is wrong at a tile's edge, flushes subnormals or lacks a barrier;
// and, by the sound ones, a refusal for another reason.
TEST_CASE("qualification refuses kernels that are broken on purpose") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  CudaDevice& device = *context->cuda;
  const CurrentContext current(device.driver(), device.context());
  const Board board = board_of(device.facts());
  for (const EditedKernels& edited : edited_kernels()) {
    for (const char* symbol : edited.symbols) {
      const KernelRow& row = *find_kernel(symbol);
      if (!holds(row, board)) continue;
      const EditedKernel kernel(device, row, edited.edits);
      const std::string verdict = qualify(device, row, sm90_set, kernel.function());
      CAPTURE(symbol, edited.name, verdict);
      CHECK(verdict.empty() == edited.is_sound);
      if (!edited.is_sound) CHECK(verdict.find("element (") != std::string::npos);
    }
  }
}

// Catches a first difference that names another element than the first: these faults begin in a row that is known.
TEST_CASE("qualification names the first element that a broken kernel gets wrong") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  CudaDevice& device = *context->cuda;
  const CurrentContext current(device.driver(), device.context());
  const KernelRow& row = *find_kernel("mgemm_f32_nn_single_a16_square");
  const auto verdict_on = [&](const Edit& edit) {
    const EditedKernel kernel(device, row, std::span(&edit, 1));
    return qualify(device, row, sm90_set, kernel.function());
  };
  // The first probe is one row larger than the tile, and its row 4 is the first with subnormals (module/probe.cpp).
  const std::string edge = verdict_on(short_tile);
  CAPTURE(edge);
  CHECK(edge.find(fmt::format("element ({}, ", row.tile_rows - 1)) != std::string::npos);
  const std::string subnormal = verdict_on(flushing);
  CAPTURE(subnormal);
  CHECK(subnormal.find("element (4, ") != std::string::npos);
}
