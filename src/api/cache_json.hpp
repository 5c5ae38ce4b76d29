#pragma once
#include <string>
#include <vector>

#include "cache/inspect.hpp"
#include "cache/location.hpp"

namespace mgemm {

/// The object of mgemm_cache_list_json.
std::string list_json(const CacheLocation& location, const std::vector<EntryInfo>& entries);

/// What a folder is like, without its entries.
struct FolderState {
  bool exists = false;
  std::string refusal{};  // "" if it is not refused
  std::string remedy{};   // the part of the refusal that says what to do, "" if there is none
  Totals totals{};
};

/// The object of mgemm_cache_totals_json.
std::string totals_json(const CacheLocation& location, const FolderState& state);

}  // namespace mgemm
