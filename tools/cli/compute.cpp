#include "compute.hpp"

#include <chrono>

#include "device.hpp"

namespace mgemm::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// One run from the old output. Uploading that is not timed; waiting for the result is.
double timed_run(mamba_gemm::Context& context, BoundProduct& product, const HostOperands& operands) {
  product.out.upload(operands.old.bytes().data(), product.out.bytes());
  context.synchronize();
  const Clock::time_point start = Clock::now();
  product.launch.run();
  context.synchronize();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Computed compute(mamba_gemm::Context& context, const HostOperands& operands, std::int32_t repeat, Progress& progress) {
  constexpr std::int32_t default_gpu_repeat = 10;
  Computed result;
  result.device = context.device_info();
  const bool gpu = result.device.kind == MGEMM_DEVICE_CUDA;

  progress.phase("preparing");
  BoundProduct product = bind(context, operands);
  result.description = product.launch.describe();

  progress.phase("running");
  // A GPU's first run pays for loading code and for clocks that are still low.
  if (gpu) timed_run(context, product, operands);
  const std::int32_t runs = repeat != 0 ? repeat : gpu ? default_gpu_repeat : 1;
  for (std::int32_t i = 0; i < runs; ++i) result.seconds.push_back(timed_run(context, product, operands));

  progress.phase("downloading");
  result.out = Array(operands.old.type(), static_cast<std::int64_t>(operands.old.size()));
  product.out.download(result.out.bytes().data(), product.out.bytes());
  return result;
}

}  // namespace mgemm::cli
