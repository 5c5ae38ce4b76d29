#pragma once
#include "cache/store.hpp"
#include "compile/nvrtc_identity.hpp"
#include "compile/nvrtc_search.hpp"

namespace mgemm {

/// The NVRTC that compiles for this process, known by content.
struct ChosenNvrtc {
  NvrtcFiles files;
  NvrtcContent content;
};

/// For compile/assemble.hpp.
NvrtcCandidate candidate_of(const ChosenNvrtc& chosen);

/// The NVRTC in use, else the one that the search would load first, which is then not loaded unless only it can say its
/// version. Its content is known from this process, from a memo in the store, or by reading both files whole, which one
/// thread of one process does. Errors: MGEMM_NO_COMPILER, MGEMM_IO (its files cannot be read, or were changed since it
/// was loaded). Any thread.
ChosenNvrtc choose_nvrtc(Store& store, int driver_version);

}  // namespace mgemm
