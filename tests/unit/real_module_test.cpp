// Modules that something is wrong with, made by this machine's NVRTC and its assembler, without a device.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "catalogue/embedded.hpp"
#include "catalogue/targets.hpp"
#include "compile/assemble.hpp"
#include "compile/module_text.hpp"
#include "compile/nvrtc_sources.hpp"
#include "compile/tensor_probe_text.hpp"
#include "module/resources.hpp"
#include "support/broken_kernels.hpp"
#include "support/proxy_kernels.hpp"
#include "support/test.hpp"
#include "support/wgmma_kernels.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr const char* no_nvrtc = "no NVRTC on this machine";

std::optional<NvrtcCandidate> real_nvrtc() { return nvrtc_by_name(process_environment(), 0); }

const CompileTarget& target_of(std::string_view exact) {
  return *std::ranges::find(compile_targets, exact, &CompileTarget::exact);
}

LoggedFacts facts_of(const NvrtcCandidate& nvrtc, std::string text, std::span<const EmbeddedFile> headers,
                     std::string_view target) {
  const AssembleRequest request = assemble_request({"test.cu", std::move(text), headers, std::string(target)}, nvrtc);
  return read_assembler_log(assemble(MGEMM_HELPER_PATH, request).log);
}

}  // namespace

// Catches a log of the real assembler in which spills, or that a kernel is not there, are not seen.
TEST_CASE("real modules: a kernel that spills and one that is missing are excluded by the assembler's log") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP(no_nvrtc);
  const KernelRow& spilling = *find_kernel("mgemm_f32_nn_single_a4_small");
  const KernelRow& missing = *find_kernel("mgemm_f32_nn_single_a4_wide");
  const KernelRow& sound = *find_kernel("mgemm_f32_nn_single_a4_square");
  // 96 values that are all needed till the end, and 32 registers.
  const std::string text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) {}(const float* in, float* out) {{\n"
      "  float v[96];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 96; ++i) v[i] = in[1024 * i + threadIdx.x];\n"
      "#pragma unroll 1\n"
      "  for (int round = 0; round < 100; ++round) {{\n"
      "#pragma unroll\n"
      "    for (int i = 0; i < 96; ++i) v[i] = v[i] * v[(i + 41) % 96] + v[(i + 7) % 96];\n"
      "  }}\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 96; ++i) out[1024 * i + threadIdx.x] = v[i];\n"
      "}}\n"
      "extern \"C\" __global__ void {}(float* out) {{ out[threadIdx.x] = 1; }}\n",
      spilling.symbol.view(), sound.symbol.view());
  for (const char* exact : {"compute_80", "compute_90a"}) {
    CAPTURE(exact);
    const LoggedFacts logged = facts_of(*nvrtc, text, {}, exact);
    const ResourceLimits limits{target_of(exact).shared_bytes};
    ResourceFacts facts;
    const std::string spills = reason_to_exclude(spilling, logged, limits, facts);
    CAPTURE(spills);
    CHECK(facts.local_bytes >= 64 * 4);
    CHECK(spills == fmt::format("it spills {} bytes a thread to local memory", facts.local_bytes));
    CHECK(reason_to_exclude(missing, logged, limits, facts) == "its module does not have it");
    CHECK(reason_to_exclude(sound, logged, limits, facts) == "");
    CHECK(facts.local_bytes == 0);
  }
}

// Catches an advisory of the real assembler that is not seen, and one that is seen where nothing was put in.
TEST_CASE("real modules: a kernel that the assembler put a wait into is excluded by its log") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP(no_nvrtc);
  const KernelRow& row = *find_kernel("mgemm_f32_nn_single_a4_small");
  const auto reason = [&](bool waits) {
    const std::string text = wgmma_text(row.symbol.view(), row.threads(), "p.rows & 0x3f", waits);
    ResourceFacts facts;
    return reason_to_exclude(row, facts_of(*nvrtc, text, embedded_files(), "compute_90a"),
                             {target_of("compute_90a").shared_bytes}, facts);
  };
  CHECK(reason(true) == "");
  const std::string unawaited = reason(false);
  CAPTURE(unawaited);
  CHECK(unawaited.find("the assembler says: ") == 0);
  CHECK(unawaited.find("C7517") != std::string::npos);
}

// Catches a kernel without a proxy fence for tests/gpu that does not compile, or that admission would refuse, or that
// differs from the sound one by more than the fence.
TEST_CASE("real modules: the kernels with and without a proxy fence compile and are admitted") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP(no_nvrtc);
  const KernelRow row = proxy_row();
  for (const bool with_fence : {true, false}) {
    CAPTURE(with_fence);
    const LoggedFacts logged = facts_of(*nvrtc, proxy_text(with_fence), embedded_files(), "compute_90a");
    ResourceFacts facts;
    CHECK(reason_to_exclude(row, logged, {target_of("compute_90a").shared_bytes}, facts) == "");
  }
  const std::string fence = "fence.proxy.async";
  CHECK(proxy_text(true).find(fence) != std::string::npos);
  CHECK(proxy_text(false).find(fence) == std::string::npos);
}

// Catches a tensor probe that does not compile for a target, lacks a type's kernel, or spills: nothing but a GPU runs
// it.
TEST_CASE("real modules: the tensor probe compiles for every target") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP(no_nvrtc);
  for (const char* exact : {"compute_80", "compute_90a"}) {
    const LoggedFacts logged = facts_of(*nvrtc, module_text(tensor_probe_module), embedded_files(), exact);
    for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
      CAPTURE(exact, kernel.symbol);
      REQUIRE(logged.contains(kernel.symbol));
      CHECK(logged.find(kernel.symbol)->second.local_bytes == 0);
    }
  }
}

// Catches kernels that are broken on purpose for tests/gpu and do not compile, or that admission would refuse before
// qualification sees them.
TEST_CASE("real modules: the kernels that are broken on purpose compile and are admitted") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP(no_nvrtc);
  for (const EditedKernels& edited : edited_kernels()) {
    const EditedSources sources(edited.edits);
    const KernelRow& row = *find_kernel(edited.symbols.front());
    for (const char* exact : {"compute_80", "compute_90a"}) {
      if (!holds(row, board_of(target_of(exact)))) continue;
      CAPTURE(edited.name, exact);
      const LoggedFacts logged = facts_of(*nvrtc, module_text(row.module.view()), sources.files(), exact);
      ResourceFacts facts;
      CHECK(reason_to_exclude(row, logged, {target_of(exact).shared_bytes}, facts) == "");
    }
  }
}
