// The kernels' own sources on the host, thread by thread: what they would catch is wrong indexing, a missing barrier or
// wait, a wrong tail, or arithmetic that is not the contract's, on machines without a GPU.
#include "host_kernels/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "host_kernels/block.hpp"
#include "host_kernels/cuda_on_host.hpp"
#include "kernel/describe.hpp"
#include "module/probe.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

/// Runs a kernel on a block of a probe, in place.
void run(const host::Kernel& kernel, const KernelRow& row, const Probe& probe, ProbeBlock& memory, Random& random) {
  // Blocks that stay for one tile after another are many or few.
  const auto multiprocessors = static_cast<std::int32_t>(uniform(random, 1, 6));
  KernelLaunch launch = describe_grid(row, probe.problem, probe.contract, multiprocessors);
  set_arguments(launch, {&row, encode_on_host}, probe.problem, probe.contract,
                memory.operands(probe, reinterpret_cast<std::uint64_t>(memory.bytes.data())));
  mgemm_kernel::TensorParams arguments{};
  std::memcpy(&arguments, launch.arguments.data(), sizeof arguments);
  const host::Grid grid{launch.grid[0], launch.block[0], launch.shared_bytes, launch.cluster};
  host::run_grid(grid, random, [&] { kernel.run(arguments); });
}

TEST_CASE("every kernel gives the evaluator's bits on its probes") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  REQUIRE(host::kernels().size() == catalogue().size());
  for (const host::Kernel& kernel : host::kernels()) {
    const KernelRow* const row = find_kernel(kernel.symbol);
    REQUIRE(row != nullptr);
    const std::vector<Probe> probes = probes_for(*row, sm90_set);
    for (const Probe& probe : probes) {
      const ProbeBlock before = make_block(probe, std::to_string(random()));
      ProbeBlock after = before;
      CAPTURE(kernel.symbol, to_string(probe.problem));
      run(kernel, *row, probe, after, random);
      REQUIRE(first_difference(probe, expected_block(probe, before), after) == "");
    }
  }
}

TEST_CASE("the host finds what would hang or fault a GPU") {
  Random random(1);
  CHECK_THROWS_AS(host::run_grid({1, 32, 64}, random,
                                 [] {
                                   if (threadIdx.x != 7) __syncthreads();
                                 }),
                  std::logic_error);
  CHECK_THROWS_AS(host::run_grid({1, 32, 64}, random, [] { host::start_copy(64, nullptr, 4, 0); }), std::logic_error);
  CHECK_THROWS_AS(host::run_grid({1, 32, 64}, random, [] { host::start_copy(2, nullptr, 4, 0); }), std::logic_error);
  CHECK_THROWS_AS(
      host::run_grid({1, 1, 64}, random, [] { reinterpret_cast<char*>(mgemm_kernel::dynamic_shared)[64] += 1; }),
      std::logic_error);
}

TEST_CASE("a copy that is not waited for has not arrived") {
  Random random(1);
  const float source = 3;
  const auto arrived = [&](int pending) {
    bool equal = false;
    host::run_grid({1, 1, 64}, random, [&] {
      host::start_copy(0, &source, 4, 4);
      host::commit_copies();
      host::commit_copies();
      host::wait_for_copies(pending);
      equal = std::memcmp(mgemm_kernel::dynamic_shared, &source, 4) == 0;
    });
    return equal;
  };
  CHECK(arrived(0));
  CHECK(arrived(1));
  CHECK_FALSE(arrived(2));
}

}  // namespace
