// What the tensor probe finds out about this board, and what that takes.
#include "module/tensor_probe.hpp"

#include <chrono>
#include <cstdio>

#include "gpu/gpu.hpp"
#include "support/temp_folder.hpp"

using namespace mgemm;
using namespace mgemm::test;

// Catches a probe that finds nothing, or another set than a board of this capability is known for.
TEST_CASE("the probe finds the set of this board's tensor cores") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  for (const char* const when : {"cold", "warm", "warm"}) {
    CudaDevice device(driver(), 0, nullptr);  // in a CUDA context of its own, as there is no other
    const auto start = std::chrono::steady_clock::now();
    const TensorSet& set = tensor_set_of(device, cache);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("tensor probe, %s: %s in %.2f ms\n", when, set.name, elapsed.count());
    // sm_80 by the literature, the others by measurement and by the literature.
    CHECK(&set == (device.facts().compute_major == 8 ? &sm80_set : &sm90_set));
    CHECK(&tensor_set_of(device, "") == &set);
  }
}
