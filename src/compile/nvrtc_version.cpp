#include "compile/nvrtc_version.hpp"

#include <fmt/format.h>

namespace mgemm {

std::string to_string(const NvrtcVersion& version) { return fmt::format("{}.{}", version.major, version.minor); }

}  // namespace mgemm
