#pragma once
#include <string>

#include "compile/nvrtc_identity.hpp"

namespace mgemm {

/// Why what these files compile in this process must not be kept under their identity; "" if it may. To be asked after
/// NVRTC was loaded and before something is kept:
/// - a file was changed or replaced since it was looked at, or since it was mapped;
/// - the library that `function`, one of NVRTC's in use, belongs to is not the one at its path (nullptr: none in use);
/// - another builtins library of the same name is mapped, which NVRTC may be using instead, and its bytes differ.
/// Other copies of NVRTC itself do not matter: each is opened by its own path.
std::string reason_not_to_keep(const NvrtcFiles& files, const void* function = nullptr);

}  // namespace mgemm
