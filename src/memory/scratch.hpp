#pragma once
#include <cstdint>

#include "base/give_back.hpp"
#include "device/device.hpp"

namespace mgemm {

/// Memory of a device for a scope.
class Scratch {
 public:
  Scratch(Device& device, std::int64_t bytes) : device_(device), address_(device.allocate(bytes)) {}
  ~Scratch() {
    give_back("memory", [&] { device_.release(address_); });
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Scratch(Scratch&&) = delete;
  Scratch& operator=(Scratch&&) = delete;
  std::uint64_t address() const { return address_; }

 private:
  Device& device_;
  std::uint64_t address_;
};

}  // namespace mgemm
