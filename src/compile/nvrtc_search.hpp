#pragma once
#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "compile/nvrtc_sources.hpp"

namespace mgemm {

struct NvrtcVersion {
  int major = 0;  // 0: unknown
  int minor = 0;
  friend auto operator<=>(const NvrtcVersion&, const NvrtcVersion&) = default;  // NOLINT(modernize-use-nullptr)
};

std::string to_string(const NvrtcVersion& version);

constexpr NvrtcVersion oldest_nvrtc{12, 3};

/// An NVRTC that was found, and what was made of it.
struct NvrtcCandidate {
  std::string path;  // with all links resolved
  std::string source;
  NvrtcVersion version;
  std::string builtins;  // the file that NVRTC opens at its first compile
  std::string verdict;
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
/// driver, any version), the earlier place among equals, the next one if it does not load.
NvrtcReport search_nvrtc(const SearchEnvironment& environment, int driver_version, const TryLoad& load);

}  // namespace mgemm
