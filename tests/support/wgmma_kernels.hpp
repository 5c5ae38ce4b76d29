// Kernels of one wgmma (sm_90a) with the parameters of the library's, for what assemblers make of them.
#pragma once
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace mgemm::test {

/// `tile` describes both operands in shared memory. Without a wait at the end the assembler has to put one in, and says
/// so (C7517).
inline std::string wgmma_text(std::string_view symbol, int threads, std::string_view tile, bool waits) {
  return fmt::format(
      "#include \"gemm_params.h\"\n"
      "extern \"C\" __global__ void __launch_bounds__({})\n"
      "{}(const __grid_constant__ mgemm_kernel::GemmParams p) {{\n"
      "  const unsigned long long tile = {};\n"
      "  float a = 0, b = 0, c = 0, d = 0;\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\");\n"
      "  asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%0, %1, %2, %3}}, %4, %4, 1, 1, 1, 0, "
      "0;\"\n"
      "               : \"+f\"(a), \"+f\"(b), \"+f\"(c), \"+f\"(d) : \"l\"(tile));\n"
      "  asm volatile(\"wgmma.commit_group.sync.aligned;\");\n"
      "  {}\n"
      "  if (threadIdx.x == 0) *static_cast<float*>(p.out) = a + b;\n"
      "}}\n",
      threads, symbol, tile, waits ? "asm volatile(\"wgmma.wait_group.sync.aligned 0;\");" : "");
}

/// A descriptor that is a constant: the assembler in NVRTC 13.0 dies of it.
inline std::string crashing_text(std::string_view symbol, int threads) {
  return wgmma_text(symbol, threads, "0", true);
}

/// Nothing is wrong with it but that nobody waits for its result.
inline std::string unawaited_text(std::string_view symbol, int threads) {
  return wgmma_text(symbol, threads, "p.rows & 0x3f", false);
}

}  // namespace mgemm::test
