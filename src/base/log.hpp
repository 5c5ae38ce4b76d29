#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {

/// True if a message of this level goes anywhere; ask before building an expensive one.
bool log_enabled(int level) noexcept;

constexpr const char* log_variable = "MAMBA_GEMM_LOG";

/// What is wrong with a value of that variable; "" if it is a level's name.
std::string log_objection(std::string_view value);

/// Delivers one line. Never throws; no lock of the library may be held by the caller.
void log_line(int level, const std::string& line) noexcept;

/// Level and sink of the whole process; fn nullptr is stderr.
void set_log(int level, mgemm_log_fn fn, void* user);

/// Keeps this thread's messages back until it ends; declared before a lock, so that they are delivered after it.
class LogDeferral {
 public:
  LogDeferral() noexcept;
  ~LogDeferral();
  LogDeferral(const LogDeferral&) = delete;
  LogDeferral& operator=(const LogDeferral&) = delete;
  LogDeferral(LogDeferral&&) = delete;
  LogDeferral& operator=(LogDeferral&&) = delete;

 private:
  bool outermost_;
};

/// Collects what one thread logs, for another to deliver.
class LogCapture {
 public:
  /// Collects while `body` runs.
  void run(const std::function<void()>& body);
  /// Logs what was collected, in the calling thread's name.
  void deliver() noexcept;

 private:
  std::vector<std::pair<int, std::string>> messages_;  // level and line
};

template <typename... Args>
void log(int level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!log_enabled(level)) return;
  try {
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {
    // A message that cannot be made is lost; the call that caused it goes on.
  }
}

}  // namespace mgemm
