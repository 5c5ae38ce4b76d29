#pragma once
#include <exception>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {

using Status = mgemm_status;

/// What travels inside the library until the C boundary turns it into a status and the thread's last error.
class Error : public std::exception {
 public:
  Error(Status status, std::string text, int driver_code = 0)
      : status_(status), driver_code_(driver_code), text_(std::move(text)) {}

  Status status() const noexcept { return status_; }
  int driver_code() const noexcept { return driver_code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Status status_;
  int driver_code_;
  std::string text_;
};

template <typename... Args>
[[noreturn]] void fail(Status status, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(status, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(MGEMM_INVALID_ARGUMENT, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mgemm
