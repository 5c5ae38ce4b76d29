#pragma once
#include <string>
#include <vector>

#include <fmt/core.h>

namespace mgemm::cli {

/// The words between the commas; of "" none.
std::vector<std::string> split(const std::string& text);

/// The words with commas between them.
template <typename Words>
std::string listed(const Words& words) {
  std::string text;
  for (const auto& word : words) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  return text;
}

}  // namespace mgemm::cli
