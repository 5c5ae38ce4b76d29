#pragma once
#include <cstdint>
#include <string>

#include "compile/nvrtc_table.hpp"

namespace mgemm {

/// Opens a candidate's builtins and then itself into `table`, without stamps; "" or what is wrong with it. Nothing is
/// ever closed.
std::string load_nvrtc(const NvrtcCandidate& candidate, NvrtcTable& table);

/// Opens a library only to ask its version; {} if it has none. It stays open.
NvrtcVersion ask_nvrtc_version(const std::string& path);

/// How often this process has opened an NVRTC. A warm start must not.
std::uint64_t nvrtc_loads() noexcept;

}  // namespace mgemm
