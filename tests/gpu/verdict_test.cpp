// That a start takes the word of an earlier one for code that has passed its probes.
#include <array>
#include <string>

#include "gpu/gpu.hpp"
#include "module/loader.hpp"
#include "support/captured_log.hpp"
#include "support/environment.hpp"
#include "support/temp_folder.hpp"

using namespace mgemm;
using namespace mgemm::test;

// Catches probes that run again at the next start, or a verdict that is taken for other code, of another folder or of
// PTX. A new CUDA context loads its modules anew, as a new process does.
TEST_CASE("the second start runs no probe") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const TempFolder folder;
  const auto start = [&](const char* helper, const char* cache_name) {
    const Variable choice("MAMBA_GEMM_HELPER", helper);
    const std::string cache = (folder.path() / cache_name).string();
    const CapturedLog log;
    CudaDevice device(driver(), 0, nullptr);
    int by_verdict = 0;
    // The first module of tensor cores brings their probe, too, which is no kernel's.
    for (const char* symbol : {"mgemm_f32_nn_single_a4_small", "mgemm_f32_tn_sliced_a4_square",
                               "mgemm_bf16_nn_single_a2_square", "mgemm_tf32_nt_single_a4_square"}) {
      const LoadedKernel kernel = load_kernel(device, *find_kernel(symbol), cache);
      CAPTURE(symbol, kernel.reason);
      REQUIRE(kernel.state == KernelState::usable);
      CHECK(kernel.qualification.milliseconds > 0);
      by_verdict += kernel.qualification.by_verdict ? 1 : 0;
    }
    CHECK(log.has("the probes run in ") == (by_verdict != 4));
    CHECK(log.has("the verdict of an earlier start found in ") == (by_verdict != 0));
    return by_verdict;
  };
  CHECK(start("off", "one") == 0);
  CHECK(start("off", "one") == 0);  // what the driver makes of PTX is not known
  CHECK(start(MGEMM_HELPER_PATH, "one") == 0);
  CHECK(start(MGEMM_HELPER_PATH, "one") == 4);
  CHECK(start(MGEMM_HELPER_PATH, "another") == 0);
}
