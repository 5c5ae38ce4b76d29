#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cache/entry.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// A module of the catalogue for a compute capability.
struct ModuleRequest {
  std::string_view module;
  int compute_major = 0;
  int compute_minor = 0;
  int driver_version = 0;       // as find_nvrtc() takes it
  std::string cache_directory;  // "" for none
};

/// Where a module's code came from, and what it is.
struct ArtifactIdentity {
  Identity source;
  Identity compiler;
  Identity artifact;  // of both, and the code
};

/// A compiled module.
struct Artifact {
  Kind kind = Kind::ptx;  // or machine_code
  std::string code;
  Digest digest;  // of the code
  ArtifactIdentity identity;
  Digest key{};             // of its entry in the cache
  bool from_cache = false;  // not compiled by this call
  std::string log{};        // the assembler's in verbose mode (module/resources.hpp), of machine code
};

/// The PTX, compiled in this process or found in the cache. Calls for the same module and target at the same time
/// compile once. Any thread.
Artifact ptx_of(const ModuleRequest& request);

/// The machine code, if it is in the cache. Neither loads nor reads NVRTC when that is known by a memo.
std::optional<Artifact> cached_machine_code_of(const ModuleRequest& request);

/// The machine code, when it was not in the cache: made by the program at `helper` (compile/assemble.hpp) from the same
/// text and options as the PTX. This process does not load NVRTC for it. Any thread.
Artifact assemble_machine_code_of(const ModuleRequest& request, const std::string& helper);

/// Removes an artifact that turned out to be of no use from the cache.
void forget(const Artifact& artifact, const ModuleRequest& request);

}  // namespace mgemm
