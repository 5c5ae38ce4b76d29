// Kernels as older boards get them, on this one: its driver's compiler takes the PTX of all of them. So what they do in
// place of newer instructions (rounding to tf32 by integers, asking a barrier again and again) runs, too.
#include <array>

#include "context/context.hpp"
#include "device/current_context.hpp"
#include "gpu/edited_kernel.hpp"
#include "gpu/gpu.hpp"
#include "module/qualify.hpp"
#include "module/tensor_probe.hpp"

using namespace mgemm;
using namespace mgemm::test;

// Catches a kernel whose code for older boards does not compute its contract although that for this board does.
TEST_CASE("kernels compiled for older boards pass their probes") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  CudaDevice& device = *context->cuda;
  const CurrentContext current(device.driver(), device.context());
  for (const char* symbol :
       {"mgemm_tf32_nn_single_a8_square", "mgemm_tf32_nt_single_a16_thin32", "mgemm_tf32_tn_sliced_a16_slices",
        "mgemm_bf16_nn_single_a16_large", "mgemm_bf16f32_tn_sliced_a4_slices", "mgemm_f16_nt_single_a2_square",
        "mgemm_f32_nn_sliced_a16_square", "mgemm_f32_tn_single_a4_wide"}) {
    const KernelRow& row = *find_kernel(symbol);
    const TensorSet& set = tensor_set_for(row.in_type, device, context->cache_directory);
    const EditedKernel kernel(device, row, {}, "compute_80");
    CAPTURE(symbol);
    CHECK(qualify(device, row, set, kernel.function()) == "");
  }
}
