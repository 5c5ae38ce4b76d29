#pragma once
#include <cstdint>

#include "catalogue/targets.hpp"

namespace mgemm {

/// What of a device decides which kernels it has, and which is fastest.
struct Board {
  std::int32_t multiprocessors = 0;
  std::int32_t shared_bytes = 0;  // a thread block may have (opt-in)
  bool tensor_maps = false;
  bool warp_groups = false;  // has wgmma
  Peaks peaks{};             // of its class; 0 where it is not known
};

/// The boards of a compile target, of any number of multiprocessors.
constexpr Board board_of(const CompileTarget& target) {
  return {0, target.shared_bytes, has_tensor_maps(target.major), has_warp_groups(target.major), target.peaks};
}

}  // namespace mgemm
