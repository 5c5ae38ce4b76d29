// That qualification finds a kernel that lacks the fence between ordinary stores to shared memory and wgmma.
#include <cstdio>

#include "catalogue/embedded.hpp"
#include "compile/compiler.hpp"
#include "compile/nvrtc_load.hpp"
#include "device/current_context.hpp"
#include "gpu/gpu.hpp"
#include "module/qualify.hpp"
#include "support/proxy_kernels.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

/// In how many of the rounds qualification refuses the kernel; `reason` is the last one's.
int refusals(CudaDevice& device, bool with_fence, int rounds, std::string& reason) {
  const DriverTable& driver = device.driver();
  const KernelRow row = proxy_row();
  const DeviceFacts& facts = device.facts();
  const Compiled compiled = compile(
      nvrtc(facts.driver_version),
      {"proxy", proxy_text(with_fence), embedded_files(), target_for(facts.compute_major, facts.compute_minor)});
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  check(driver.cuModuleLoadDataEx(&module, compiled.ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  check(driver.cuModuleGetFunction(&function, module, row.symbol.c_str()), "cuModuleGetFunction");
  int count = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::string verdict = qualify(device, row, sm90_set, function);
    if (verdict.empty()) continue;
    reason = verdict;
    ++count;
  }
  check(driver.cuModuleUnload(module), "cuModuleUnload");
  return count;
}

}  // namespace

// Catches probes that a kernel passes although wgmma may read shared memory before what was stored there has arrived;
// and, by the sound one, a refusal for another reason.
TEST_CASE("qualification refuses a kernel without a proxy fence", "[uninstrumented]") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  CudaDevice device(driver(), 0, nullptr);
  if (device.facts().compute_major != 9) MGEMM_SKIP("wgmma is for sm_90a");
  const CurrentContext current(device.driver(), device.context());
  constexpr int most = 20;
  std::string reason;
  const int sound = refusals(device, true, most, reason);
  CAPTURE(reason);
  CHECK(sound == 0);
  const int broken = refusals(device, false, most, reason);
  std::printf("without a proxy fence refused in %d of %d rounds: %s\n", broken, most, reason.c_str());
  // The fault is a race, which a round may win.
  CHECK(broken > 0);
  if (broken != 0) CHECK(reason.find("element (") != std::string::npos);
}
