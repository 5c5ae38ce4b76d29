#include "module/qualify.hpp"

#include <algorithm>
#include <vector>

#include "base/cuda_abi.hpp"
#include "base/error.hpp"
#include "device/private_stream.hpp"
#include "kernel/describe.hpp"
#include "memory/scratch.hpp"
#include "module/probe.hpp"

namespace mgemm {
namespace {

struct Trial {
  Probe probe;
  ProbeBlock block;
};

std::int64_t bytes_of(const ProbeBlock& block) { return static_cast<std::int64_t>(block.bytes.size()); }

std::string run(CudaDevice& device, Stream stream, std::uint64_t address, const KernelRow& row, cuda::Function function,
                const Trial& trial) {
  const auto& [probe, block] = trial;
  // As if there were one multiprocessor: a second tile a block, where blocks stay for one.
  KernelLaunch launch = describe_grid(row, probe.problem, probe.contract, 1);
  launch.function = function;
  launch.row = -1;  // counters are for what callers ask for
  set_arguments(launch, binding_of(row, device), probe.problem, probe.contract, block.operands(probe, address));
  device.upload(address, block.bytes.data(), bytes_of(block), stream);
  try {
    device.enqueue(launch, stream);
  } catch (const Error& error) {
    const auto code = static_cast<cuda::Result>(error.driver_code());
    const bool is_of_kernel = code == cuda::Result::InvalidValue || code == cuda::Result::LaunchOutOfResources ||
                              code == cuda::Result::InvalidClusterSize;
    if (!is_of_kernel) throw;
    return error.what();
  }
  ProbeBlock got = block;
  device.download(got.bytes.data(), address, bytes_of(block), stream);
  return first_difference(probe, expected_block(probe, block), got);
}

}  // namespace

std::string qualify(CudaDevice& device, const KernelRow& row, const TensorSet& set, cuda::Function function) {
  std::vector<Trial> trials;
  std::int64_t most = 0;
  for (const Probe& probe : probes_for(row, set)) {
    trials.push_back({probe, make_block(probe, row.symbol.view())});
    most = std::max(most, bytes_of(trials.back().block));
  }
  const PrivateStream stream(device);
  const Scratch scratch(device, most);
  for (const Trial& trial : trials) {
    std::string difference = run(device, stream.handle(), scratch.address(), row, function, trial);
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace mgemm
