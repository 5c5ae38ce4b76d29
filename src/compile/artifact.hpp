#pragma once
#include <string>
#include <string_view>

#include "base/sha256.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// The SHA-256 over names and bytes of all embedded CUDA sources.
const Digest& embedded_digest();

/// What a module is compiled from.
Identity source_identity(std::string_view module);

/// A compiled module.
struct Artifact {
  std::string ptx;
  Digest identity;          // of source, compiler and output
  bool from_cache = false;  // not compiled by this call
};

/// Compiles a module for a compute capability, or finds it in the cache folder ("" for none). Calls for the same module
/// and target at the same time compile once.
Artifact artifact_of(std::string_view module, int compute_major, int compute_minor, int driver_version,
                     const std::string& cache_directory);

}  // namespace mgemm
