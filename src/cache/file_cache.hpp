#pragma once
#include <optional>
#include <string>

#include "base/sha256.hpp"

namespace mgemm {

/// One file per key in `directory` ("" is no cache: nothing is found, nothing kept). A file that is not exactly what
/// was written, by its SHA-256, does not count as found.
std::optional<std::string> load_cached(const std::string& directory, const Digest& key);

/// Written beside its place and renamed into it, so that readers see all of it or none. Makes the directory (0700) if
/// needed. Failure is logged and otherwise harmless.
void store_cached(const std::string& directory, const Digest& key, const std::string& payload) noexcept;

}  // namespace mgemm
