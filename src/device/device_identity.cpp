#include "device/device_identity.hpp"

#include <fmt/core.h>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {
namespace {

std::optional<std::string> if_known(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

Identity device_identity(const DeviceFacts& facts) {
  Identity identity("mamba-gemm device", 1);
  identity.add("name", facts.name)
      .add("compute capability", fmt::format("{}.{}", facts.compute_major, facts.compute_minor));
  if (facts.kind != MGEMM_DEVICE_CUDA) return identity;
  return identity.add("multiprocessors", fmt::format("{}", facts.multiprocessors))
      .add("opt-in shared memory", fmt::format("{}", facts.shared_bytes_per_block))
      .add("tensor maps", facts.tensor_maps ? "yes" : "no")
      .add("driver", if_known(facts.driver_build.version))
      .add("driver build-id", if_known(facts.driver_build.build_id));
}

}  // namespace mgemm
