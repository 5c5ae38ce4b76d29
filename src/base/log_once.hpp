#pragma once
#include <string>

namespace mgemm {

/// Logs a line unless this process has logged the very same one before.
void log_once(int level, const std::string& line) noexcept;

}  // namespace mgemm
