// base/log.hpp for a program whose only output is its response.
#include "base/log.hpp"

namespace mgemm {

bool log_enabled(int /*level*/) noexcept { return false; }
void log_line(int /*level*/, const std::string& /*line*/) noexcept {}

}  // namespace mgemm
