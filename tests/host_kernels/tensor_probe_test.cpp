// The tensor probe's own source on the host, whose mma has the arithmetic of sm_90: what it would catch is wrong
// indexing, for which a board would be refused.
#include <cstring>

#include "host_kernels/cuda_on_host.hpp"
#include "tensor_probe.cuh"

#include "compile/tensor_probe_text.hpp"
#include "host_kernels/block.hpp"
#include "kernel/describe.hpp"
#include "module/tensor_probe.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

void run(Type type, const Probe& probe, ProbeBlock& memory, Random& random) {
  KernelLaunch launch;
  set_arguments(launch, {}, probe.problem, probe.contract,
                memory.operands(probe, reinterpret_cast<std::uint64_t>(memory.bytes.data())));
  mgemm_kernel::GemmParams arguments{};
  std::memcpy(&arguments, launch.arguments.data(), sizeof arguments);
  const auto blocks = static_cast<std::uint32_t>(output_rows(probe.problem) / tensor_probe_rows);
  host::run_grid({blocks, 32, 64}, random, [&] {
    if (type == Type::bf16) mgemm_kernel::tensor_probe<mgemm_kernel::BF16>(arguments);
    if (type == Type::f16) mgemm_kernel::tensor_probe<mgemm_kernel::F16>(arguments);
    if (type == Type::tf32) mgemm_kernel::tensor_probe<mgemm_kernel::TF32>(arguments);
  });
}

TEST_CASE("the tensor probe gives the bits of the set whose arithmetic there is") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
    const std::vector<Probe> here = tensor_probes(kernel.type, sm90_set);
    const std::vector<Probe> elsewhere = tensor_probes(kernel.type, sm80_set);
    bool differs = false;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const ProbeBlock before = tensor_block(here[i]);
      ProbeBlock after = before;
      run(kernel.type, here[i], after, random);
      CAPTURE(kernel.symbol, i);
      CHECK(first_difference(here[i], expected_block(here[i], before), after) == "");
      differs |= !first_difference(elsewhere[i], expected_block(elsewhere[i], before), after).empty();
    }
    CHECK(differs);
  }
}

}  // namespace
