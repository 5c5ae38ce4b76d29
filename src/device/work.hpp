#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "numeric/contract.hpp"

namespace mgemm {

/// A CUstream; 0 is the legacy default stream, and all there is on the reference device.
using Stream = std::uint64_t;

/// A kernel launch, complete down to its argument bytes. `function` is a CUfunction.
struct KernelLaunch {
  const char* symbol = nullptr;
  void* function = nullptr;
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t shared_bytes = 0;
  std::uint32_t cluster = 1;               // thread blocks of a cluster
  std::int32_t row = -1;                   // of the catalogue, for the launch counters; -1: not to be counted
  std::array<std::byte, 640> arguments{};  // as many of them as the kernel declares

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

/// A product on the reference device. Addresses are host addresses.
struct HostProduct {
  Problem problem;
  Contract contract;
  mgemm_operands operands{};
};

/// What a device can be asked to do. std::monostate is a product with an empty output: nothing.
using Work = std::variant<std::monostate, KernelLaunch, HostProduct>;

}  // namespace mgemm
