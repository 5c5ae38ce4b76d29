#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/nvrtc_sources.hpp"
#include "compile/nvrtc_version.hpp"

namespace mgemm {

/// An NVRTC that was found, and what was made of it.
struct NvrtcCandidate {
  std::string path;  // with all links resolved
  std::string source;
  NvrtcVersion version;
  std::string builtins;  // the file that NVRTC opens at its first compile
  std::string verdict;
  bool is_newer_than_driver = false;  // which then takes its machine code, within a major version, but not its PTX
};

/// How the search went, for people.
struct NvrtcReport {
  bool available = false;
  std::string path;
  NvrtcVersion version;
  std::string reason;  // why there is none
  std::vector<SourcePlaces> places;
  std::vector<NvrtcCandidate> candidates;
};

/// Loads a candidate; "" if it serves now, else what is wrong with it.
using TryLoad = std::function<std::string(const NvrtcCandidate&)>;

/// Looks in all places and loads the newest version that the driver can take (`driver_version` as CUDA counts, 0: no
/// driver, any version), the earlier place among equals, the next one if it does not load. If there is none, the oldest
/// newer one of the driver's major version, whose machine code the driver can still take (CUDA's minor version
/// compatibility).
NvrtcReport search_nvrtc(const SearchEnvironment& environment, int driver_version, const TryLoad& load);

/// The candidate that the search would try to load first, by the names of files: nothing is opened. nullopt if there is
/// none, or if somewhere only a library itself could tell its version.
std::optional<NvrtcCandidate> nvrtc_by_name(const SearchEnvironment& environment, int driver_version);

}  // namespace mgemm
