#pragma once
#include <cstdint>
#include <string_view>

#include "cache/directory.hpp"

namespace mgemm {

/// How long ago a use must be for the next one to be noted: noting every one would write to the disk at every hit.
constexpr std::int64_t recency_seconds = 3600;

/// Whether a file whose last use was noted at `used_at` is to be touched by a use now. Times in the future, from a
/// clock that was wrong, are set right.
bool is_touch_due(std::int64_t used_at, std::int64_t now);

/// Removes entries, least recently used first, until the others have at most `cap` bytes together, and temporaries of
/// dead writers. `spared` is the name of an entry that stays whatever its time says, because it was made just now. A
/// reader that has a removed entry open still reads it; one that comes later misses. An errno if the directory could
/// not be listed.
int evict(const PrivateDirectory& directory, std::uint64_t cap, std::string_view spared = {});

}  // namespace mgemm
