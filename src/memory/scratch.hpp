#pragma once
#include <cstdint>

#include "base/error.hpp"
#include "device/device.hpp"

namespace mgemm {

/// Memory of a device for a scope.
class Scratch {
 public:
  Scratch(Device& device, std::int64_t bytes) : device_(device), address_(device.allocate(bytes)) {}
  ~Scratch() {
    try {
      device_.release(address_);
    } catch (const Error&) {
      // The device is lost, and its memory with it; the error that says so is already on its way.
    }
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
