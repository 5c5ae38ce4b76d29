// What admission makes of what this board's driver says while it compiles a kernel of wgmma.
#include "gpu/gpu.hpp"
#include "gpu/planted_module.hpp"
#include "support/quiet.hpp"
#include "support/wgmma_kernels.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

constexpr const char* row_name = "mgemm_f32_nn_single_a4_square";

const char* no_wgmma() {
  if (const char* reason = missing()) return reason;
  return mamba_gemm::Context::cuda().device_info().compute_major == 9 ? nullptr : "wgmma is for sm_90a";
}

}  // namespace

// Catches a kernel that serves although the driver's compiler has put a wait into it, and a log of it that is not asked
// for, cut off or misread.
TEST_CASE("a kernel that the driver's compiler put a wait into is excluded", "[uninstrumented]") {
  if (const char* reason = no_wgmma()) MGEMM_SKIP(reason);
  const Quiet quiet;
  CudaDevice device(driver(), 0, nullptr);
  const KernelRow& row = *find_kernel(row_name);
  const PlantedModule planted(device, row, unawaited_text(row.symbol.view(), row.threads()));
  const LoadedKernel kernel = planted.load(device);
  CAPTURE(kernel.reason);
  CHECK(kernel.state == KernelState::excluded);
  CHECK(kernel.reason.find("the assembler says: ") == 0);
  CHECK(kernel.reason.find("C7517") != std::string::npos);
}
