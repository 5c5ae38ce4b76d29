#pragma once
#include <string>
#include <utility>

#include <fmt/core.h>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {

/// True if a message of this level goes anywhere; ask before building an expensive one.
bool log_enabled(int level) noexcept;

/// Delivers one line. Never throws; no lock of the library may be held by the caller.
void log_line(int level, const std::string& line) noexcept;

/// Level and sink of the whole process; fn nullptr is stderr.
void set_log(int level, mgemm_log_fn fn, void* user) noexcept;

template <typename... Args>
void log(int level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mgemm
