#pragma once
#include <span>
#include <string>
#include <string_view>

namespace mgemm::cli {

/// How many letters must be changed, added, left out or swapped with their neighbour to get from one to the other.
std::size_t typing_distance(std::string_view from, std::string_view to);

/// The name that was probably meant by a mistyped one; "" if none is at most 3 slips away. Case does not matter.
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

}  // namespace mgemm::cli
