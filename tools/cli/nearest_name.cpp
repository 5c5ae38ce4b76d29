#include "nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace mgemm::cli {
namespace {

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return result;
}

}  // namespace

std::size_t typing_distance(std::string_view from, std::string_view to) {
  // distance[i][j] is that of the first i letters of one and the first j of the other.
  std::vector<std::vector<std::size_t>> distance(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      std::size_t& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      const std::size_t change = from[i - 1] == to[j - 1] ? 0 : 1;
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + change});
      const bool is_swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_swapped) here = std::min(here, distance[i - 2][j - 2] + 1);
    }
  }
  return distance[from.size()][to.size()];
}

std::string nearest_name(std::string_view typed, std::span<const std::string> names) {
  constexpr std::size_t most_slips = 3;
  std::string nearest;
  std::size_t least = most_slips + 1;
  for (const std::string& name : names) {
    const std::size_t distance = typing_distance(upper_case(typed), upper_case(name));
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace mgemm::cli
