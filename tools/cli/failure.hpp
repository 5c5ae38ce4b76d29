#pragma once
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace mgemm::cli {

/// What the process returns. Library failures travel as mamba_gemm::Error.
enum ExitCode : int { exit_ok = 0, exit_mismatch = 1, exit_bad_input = 2, exit_library = 3 };

/// The caller's fault: an option, a problem string or a file.
class BadInput : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args) {
  throw BadInput(fmt::format(format, std::forward<Args>(args)...));
}

/// Writes to stderr. Where that cannot be written to, nobody can be told; the exit code still says it.
inline void say(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace mgemm::cli
