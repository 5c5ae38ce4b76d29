// What the user writes about entries of the cache.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "report.hpp"

namespace mgemm::cli {

/// KEY or KEY:KIND, where KEY is the start of a key.
struct KeyChoice {
  std::string prefix;  // 4 to 64 lower-case digits
  std::string kind;    // "" for any
};

/// Throws BadInput.
KeyChoice parse_key(const std::string& text);

/// MGEMM_CACHE_PTX .. of a name in the library's JSON; 0 if there is none.
std::int32_t kind_of(std::string_view name);

/// The one entry of a listing that is meant, null if there is none. BadInput lists those that could be meant.
Json choose_entry(const Json& entries, const KeyChoice& choice);

/// 90s, 15m, 12h or 7d in seconds. Throws BadInput.
std::int64_t parse_duration(const std::string& text);

}  // namespace mgemm::cli
