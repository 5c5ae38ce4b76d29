// The cache as tables for people, from the library's JSON.
#pragma once
#include <string>

#include "report.hpp"

namespace mgemm::cli {

/// The line about a process's counters: whether its code came from the cache.
std::string counters_text(const Json& counters);

/// A listing with a line for each entry.
std::string list_text(const Json& listing);

/// One entry with everything about it.
std::string entry_text(const Json& entry);

/// A folder's totals.
std::string totals_text(const Json& totals);

/// The line for an entry that would not be used.
std::string bad_entry_text(const Json& entry);

/// "3 entries", "1 entry".
std::string entries_text(std::uint64_t count);

/// For example "1.5 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace mgemm::cli
