#pragma once
#include "base/log.hpp"
#include "device/driver_table.hpp"

namespace mgemm {

/// Makes a CUDA context current for a scope; does nothing if it is already.
class CurrentContext {
 public:
  CurrentContext(const DriverTable& driver, cuda::Context wanted) : driver_(driver), wanted_(wanted) {
    cuda::Context current = nullptr;
    check(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (current == wanted) return;
    check(driver.cuCtxPushCurrent(wanted), "cuCtxPushCurrent");
    pushed_ = true;
  }
  ~CurrentContext() {
    cuda::Context popped = nullptr;
    if (pushed_ && driver_.cuCtxPopCurrent(&popped) != cuda::Result::Success) restore();
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  CurrentContext(CurrentContext&&) = delete;
  CurrentContext& operator=(CurrentContext&&) = delete;

 private:
  /// A pop may answer with the error of earlier work, whether it has popped or not.
  void restore() noexcept {
    cuda::Context current = nullptr;
    const cuda::Result seen = driver_.cuCtxGetCurrent(&current);
    if (seen == cuda::Result::Success && current != wanted_) return;
    if (seen == cuda::Result::Success && driver_.cuCtxPopCurrent(&current) == cuda::Result::Success) return;
    log(MGEMM_LOG_WARN, "cuCtxPopCurrent failed: a CUDA context of the library's is left current on this thread");
  }

  const DriverTable& driver_;
  cuda::Context wanted_;
  bool pushed_ = false;
};

}  // namespace mgemm
