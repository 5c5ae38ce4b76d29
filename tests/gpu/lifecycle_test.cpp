#include <thread>

#include "device/driver_table.hpp"
#include "gpu/gpu.hpp"
#include "support/device_product.hpp"

using namespace mgemm;
using namespace mgemm::test;
using mamba_gemm::Buffer;
using mamba_gemm::Context;

// Catches a verify that compares nothing, or that touches the live output.
TEST_CASE("verify compares a shadow run and leaves the output alone") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context gpu = Context::cuda();
  for (const char* text : {"nn:f32:100x600x90:bias", "tn:f32:1100x50x60:beta=0.5", "nt:f32:3x700x2100:alpha=2"}) {
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const BoundProduct bound(gpu, product);
    const mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
    CAPTURE(text);
    const mgemm_verify_report all = launch.verify(1 << 30, seed);
    REQUIRE(all.mismatches == 0);
    REQUIRE(all.checked == product.out.rows * product.out.columns);
    const mgemm_verify_report some = launch.verify(50, seed);
    REQUIRE(some.mismatches == 0);
    REQUIRE(some.checked >= 50);
    REQUIRE(some.checked < all.checked);
    REQUIRE(bound.result() == product.out.words);
  }
}

// Catches use of memory that is gone, or past its end.
TEST_CASE("freed and short memory is refused before anything is launched") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const Context gpu = Context::cuda();
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:16x16x16");
  const Buffer a(gpu, 1024);
  const Buffer b(gpu, 1024);
  Buffer out(gpu, 1024);
  mamba_gemm::Launch launch(gpu, problem, mamba_gemm::operands(a.address(), b.address(), out.address()));
  launch.run();
  const mgemm_operands short_b = mamba_gemm::operands(a.address(), b.address() + 16, out.address());
  REQUIRE(mgemm_launch_bind(launch.handle(), &short_b) == MGEMM_INVALID_ARGUMENT);
  launch.run();  // still bound as before
  out = Buffer();
  REQUIRE(mgemm_launch_run(launch.handle()) == MGEMM_STALE);
  REQUIRE(mgemm_launch_validate(launch.handle()) == MGEMM_STALE);
}

// Catches races between contexts: module loading, compiling, and launching on several threads at once.
TEST_CASE("contexts on several threads work at the same time") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  constexpr int count = 8;
  std::vector<int> equal(count, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([t, seed, &equal] {
      Random random(seed + static_cast<std::uint64_t>(t));
      const Context gpu = Context::cuda();
      const Context reference = Context::reference(1);
      const char* text = t % 2 == 0 ? "nn:f32:130x300x77" : "nt:f32:130x300x77";
      // No assertions here: the test framework's are not for several threads.
      DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
      const auto run = [&](const Context& context) {
        const DeviceMatrix a(context, product.a);
        const DeviceMatrix b(context, product.b);
        const DeviceMatrix out(context, product.out);
        mamba_gemm::Launch launch(context, product.problem,
                                  mamba_gemm::operands(a.address(), b.address(), out.address()));
        launch.run();
        return out.download();
      };
      for (int round = 0; round < 20; ++round) equal[static_cast<size_t>(t)] += run(gpu) == run(reference) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(equal == std::vector<int>(count, 20));
}

// Catches a library that leaves its own context current, and one that needs one to be current.
TEST_CASE("a fresh thread without a current context can run what another prepared") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Context gpu = Context::cuda();
  const Context reference = Context::reference();
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:33x44x55"), {});
  const BoundProduct bound(gpu, product);
  mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
  mgemm_status status = MGEMM_INTERNAL;
  std::thread([&] { status = mgemm_launch_run(launch.handle()); }).join();
  REQUIRE(status == MGEMM_OK);
  REQUIRE(bound.result() == run_on(reference, product));
}

// Catches a context that insists on a stream or CUDA context of its own making, and one that a reset has left behind.
TEST_CASE("the caller's CUDA context and streams serve, the legacy stream among them") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const DriverTable& driver = mgemm::driver();
  cuda::Context primary = nullptr;
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&primary, 0) == cuda::Result::Success);
  const Context reference = Context::reference();
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:70x800x90"), {});
  const auto expected = run_on(reference, product);
  {
    const Context other = Context::cuda();
    for (const std::uint64_t stream : {std::uint64_t{0}, other.stream()}) {
      mgemm_context_options options = Context::options(MGEMM_DEVICE_CUDA);
      options.cu_context = reinterpret_cast<std::uint64_t>(primary);
      options.stream_kind = MGEMM_STREAM_CALLER;
      options.stream = stream;
      const Context mine(options);
      REQUIRE(mine.stream() == stream);
      REQUIRE(run_on(mine, product) == expected);
    }
  }
  REQUIRE(driver.cuDevicePrimaryCtxRelease(0) == cuda::Result::Success);
  // Nobody holds the primary context now: it is made anew, and with it the modules.
  REQUIRE(run_on(Context::cuda(), product) == expected);
}

// Catches host pointers and other nonsense reaching a kernel.
TEST_CASE("addresses that the driver does not know are refused before anything is launched") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const Context gpu = Context::cuda();
  const Buffer a(gpu, 1024);
  const Buffer b(gpu, 1024);
  const std::vector<float> host(256);
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:16x16x16");
  const mgemm_operands operands = mamba_gemm::operands(a.address(), b.address(), mamba_gemm::host_address(host.data()));
  REQUIRE(mgemm_gemm(gpu.handle(), &problem, &operands) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(std::string(mgemm_last_error()).find("operands.out is 0x") == 0);
  mamba_gemm::check(mgemm_context_synchronize(gpu.handle()));
}
