#pragma once
#include "device/driver_table.hpp"

namespace mgemm {

/// Makes a CUDA context current for a scope; does nothing if it is already.
class CurrentContext {
 public:
  CurrentContext(const DriverTable& driver, cuda::Context wanted) : driver_(driver) {
    cuda::Context current = nullptr;
    check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (current == wanted) return;
    check(driver.cuCtxPushCurrent(wanted), "cuCtxPushCurrent");
    pushed_ = true;
  }
  ~CurrentContext() {
    cuda::Context popped = nullptr;
    if (pushed_) static_cast<void>(driver_.cuCtxPopCurrent(&popped));
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  CurrentContext(CurrentContext&&) = delete;
  CurrentContext& operator=(CurrentContext&&) = delete;

 private:
  const DriverTable& driver_;
  bool pushed_ = false;
};

}  // namespace mgemm
