// The kernel that NVRTC's assembler and the driver's compiler, made of the same parts, have been seen to die of.
#include <fmt/core.h>

#include "compile/assemble.hpp"
#include "compile/nvrtc_search.hpp"
#include "gpu/gpu.hpp"
#include "gpu/planted_module.hpp"
#include "support/captured_log.hpp"
#include "support/child.hpp"
#include "support/quiet.hpp"
#include "support/script.hpp"
#include "support/wgmma_kernels.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

const char* no_wgmma() {
  if (const char* reason = missing()) return reason;
  return mamba_gemm::Context::cuda().device_info().compute_major == 9 ? nullptr : "wgmma is for sm_90a";
}

const KernelRow& row() { return *find_kernel("mgemm_f32_nn_single_a4_square"); }

/// Whether the assembler dies of it, in the helper's process.
bool assembler_dies() {
  const auto compiler = nvrtc_by_name(process_environment(), 0);
  REQUIRE(compiler);
  const CompileRequest fatal{"test.cu", crashing_text(row().symbol.view(), row().threads()), embedded_files(),
                             "compute_90a"};
  try {
    static_cast<void>(assemble(MGEMM_HELPER_PATH, assemble_request(fatal, *compiler)));
    return false;
  } catch (const AssemblerCrash&) {
    return true;
  }
}

}  // namespace

// What a process that must do without the helper comes to. Run by the test below.
TEST_CASE("planted: the driver's compiler gets the kernel that the assembler dies of", "[.planted]") {
  const Quiet quiet;
  CudaDevice device(driver(), 0, nullptr);
  static_cast<void>(
      PlantedModule(device, row(), crashing_text(row().symbol.view(), row().threads())).load(device).state);
}

// A module whose machine code the helper cannot make, for its assembler dies, and the next that it can. Run by the test
// below, for a process remembers the former.
TEST_CASE("planted: the assembler dies of one module", "[.planted]") {
  const TempFolder folder;
  const std::string marks = (folder.path() / "marks").string();
  const std::string script = write_script(
      folder.path() / "helper", fmt::format("echo >>'{0}'; [ $(wc -l <'{0}') = 1 ] && kill -SEGV $$; exec '{1}' \"$@\"",
                                            marks, MGEMM_HELPER_PATH));
  const Variable helper("MAMBA_GEMM_HELPER", script);
  const Quiet quiet;
  CudaDevice device(driver(), 0, nullptr);
  const std::string cache = (folder.path() / "cache").string();
  const LoadedKernel dead = load_kernel(device, row(), cache);
  CAPTURE(dead.reason);
  CHECK(dead.state == KernelState::failed);
  CHECK(dead.reason.find("died of module f32_nn_single_a4_square") != std::string::npos);
  CHECK(load_kernel(device, *find_kernel("mgemm_f32_nn_single_a4_small"), cache).state == KernelState::usable);
}

// Catches a rule that does not fit this machine: the library keeps from the driver what the assembler died of, and
// nothing else. And a library that goes down with its helper, or that cannot go on afterwards.
TEST_CASE("the driver's compiler dies of what the assembler dies of, and a process with a helper lives",
          "[uninstrumented]") {
  if (const char* reason = no_wgmma()) MGEMM_SKIP(reason);
  const bool dies = assembler_dies();
  const int without_helper =
      Child("planted: the driver's compiler gets the kernel that the assembler dies of", {}).wait();
  CAPTURE(dies, without_helper);
  CHECK((dies ? without_helper > 128 : without_helper == 0));
  CHECK(Child("planted: the assembler dies of one module", {}).wait() == 0);
}
