#pragma once
#include <optional>
#include <string>

#include "cache/store.hpp"
#include "compile/nvrtc_identity.hpp"
#include "compile/nvrtc_search.hpp"

namespace mgemm {

/// The NVRTC that compiles for this process.
struct ChosenNvrtc {
  NvrtcFiles files;
  NvrtcVersion version;
  std::optional<NvrtcContent> content;  // nullopt if its files changed before they were read
  std::string doubt;                    // why there is none
};

/// For compile/assemble.hpp.
NvrtcCandidate candidate_of(const ChosenNvrtc& chosen);

/// The NVRTC in use, else the one that the search would load first, which is then not loaded unless only it can say its
/// version. Its content is known from this process, from a memo in the store, or by reading both files whole, which one
/// thread of one process does. MGEMM_NO_COMPILER if there is none. Any thread.
ChosenNvrtc choose_nvrtc(Store& store, int driver_version);

}  // namespace mgemm
