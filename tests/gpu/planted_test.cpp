// Faults planted on purpose, each for one of compute-sanitizer's tools to find. Hidden: only run by name, under the
// tool.
#include <cstring>

#include "catalogue/embedded.hpp"
#include "compile/compiler.hpp"
#include "context/context.hpp"
#include "device/current_context.hpp"
#include "gpu/gpu.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

/// A kernel of one block of 128 threads, whose parameter is as many words.
void run_kernel(const char* symbol, const char* text) {
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  CudaDevice& device = *context->cuda;
  const DeviceFacts& facts = device.facts();
  const Compiled compiled =
      compile(nvrtc(facts.driver_version), {symbol, text, {}, target_for(facts.compute_major, facts.compute_minor)});
  const DriverTable& driver = device.driver();
  const std::uint64_t out = device.allocate(128 * 4);
  const CurrentContext current(driver, device.context());
  cuda::Module module = nullptr;
  check(driver.cuModuleLoadDataEx(&module, compiled.ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  KernelLaunch launch;
  launch.symbol = symbol;
  cuda::Function function = nullptr;
  check(driver.cuModuleGetFunction(&function, module, symbol), "cuModuleGetFunction");
  launch.function = function;
  launch.grid = {1, 1, 1};
  launch.block = {128, 1, 1};
  std::memcpy(launch.arguments.data(), &out, sizeof out);
  device.enqueue(launch, context->stream);
  device.synchronize(context->stream);
}

}  // namespace

// memcheck must report the writes past the end of an output that is one row short.
TEST_CASE("planted: a write out of bounds", "[.planted]") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  Device& device = *context->device;
  // Straight from the device, so that the range check of the interface does not see it.
  const std::uint64_t a = device.allocate(64 * 64 * 4);
  const std::uint64_t b = device.allocate(64 * 64 * 4);
  const std::uint64_t out = device.allocate(63 * 64 * 4);
  const Problem problem = problem_from_string("nn:f32:64x64x64");
  const Plan plan = make_plan({device, context->cuda, context->cache_directory}, problem, 16);
  device.enqueue(bind_work(plan, mamba_gemm::operands(a, b, out), context->cuda), context->stream);
  try {
    device.synchronize(context->stream);
  } catch (const Error&) {
    // The tool may stop the kernel.
  }
}

// racecheck must report that warps read what others write without a barrier between.
TEST_CASE("planted: a race in shared memory", "[.planted]") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  run_kernel("race",
             "extern \"C\" __global__ void race(int* out) {\n"
             "  __shared__ int values[128];\n"
             "  values[threadIdx.x] = threadIdx.x;\n"
             "  out[threadIdx.x] = values[127 - threadIdx.x];\n"
             "}\n");
}

// synccheck must report that some lanes of a warp wait at a barrier that the others never reach.
TEST_CASE("planted: a barrier in a branch", "[.planted]") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  try {
    run_kernel("branch",
               "extern \"C\" __global__ void branch(int* out) {\n"
               "  if (threadIdx.x % 32 < 16) __syncthreads();\n"
               "  out[threadIdx.x] = 1;\n"
               "}\n");
  } catch (const Error&) {
    // The tool may stop the kernel.
  }
}
