#include "bench/session.hpp"

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace mgemm::cli::bench {
namespace {

constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20U;

/// The tool's advice on a missing device, another one, is none here.
mamba_gemm::Context open_gpu(const DeviceChoice& device) {
  try {
    return open_context(device, 0);
  } catch (const mamba_gemm::Error& error) {
    if (error.status() != MGEMM_NO_DEVICE) throw;
    throw Failure(fmt::format("{}: {}", error.status_name(), error.what()));
  }
}

}  // namespace

Session::Session(const DeviceChoice& device, const CublasLt* cublas, std::uint64_t seed, std::int32_t windows)
    : context_(open_gpu(device)),
      primary_(driver_, device.ordinal),
      stream_(driver_),
      stopwatch_(stream_),
      board_(primary_.pci_bus_id()),
      workspace_(context_, workspace_bytes),
      seed_(seed),
      windows_(windows) {
  context_.set_stream(stream_.number());
  if (cublas != nullptr)
    cublas_ = std::make_unique<CublasSession>(*cublas, workspace_.address(), static_cast<std::size_t>(workspace_bytes));
}

const Pool& Session::pool(std::int32_t type) {
  const auto found = pools_.find(type);
  return found != pools_.end() ? found->second : pools_.emplace(type, Pool(type, seed_)).first->second;
}

double Session::take_warm_up() {
  constexpr double first = 500;
  constexpr double later = 20;
  return std::exchange(is_warm_, true) ? later : first;
}

Header Session::header() {
  const mgemm_device_info info = context_.device_info();
  const std::string_view name(info.name);
  const std::string build = board_.driver_version();
  Header header;
  header.device = fmt::format("cuda:{}, {}, compute capability {}.{}, {} multiprocessors", info.ordinal, name,
                              info.compute_major, info.compute_minor, info.multiprocessors);
  header.driver = fmt::format("{}{}CUDA {}.{}", build, build.empty() ? "" : ", ", info.driver_version / 1000,
                              info.driver_version % 1000 / 10);
  header.library = fmt::format("mamba_gemm {}, sources {:.12}", mgemm_version_string(), mgemm_source_hash());
  if (cublas_) header.cublas = cublas_->library().description();
  header.node_us = memset_node_us(stopwatch_, workspace_.address());
  header.power_limit_w = board_.power_limit_w();
  header.windows = windows_;
  return header;
}

}  // namespace mgemm::cli::bench
