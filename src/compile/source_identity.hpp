#pragma once
#include <string_view>

#include "base/sha256.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// The SHA-256 over names and bytes of all embedded CUDA sources.
Digest embedded_digest();

/// What a module is compiled from: its text, and everything it may include, by content.
Identity source_identity(std::string_view module);

}  // namespace mgemm
