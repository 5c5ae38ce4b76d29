#include "targets.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "first_kernel.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "nearest_name.hpp"
#include "word_list.hpp"

namespace mgemm::cli {
namespace {

constexpr const char* every_target = "all";

std::vector<std::string> known_targets() {
  std::vector<std::string> targets;
  mamba_gemm::for_each_kernel(every_target, false, [&](const mgemm_kernel_info& kernel) {
    if (targets.empty() || targets.back() != kernel.target) targets.emplace_back(kernel.target);
  });
  return targets;
}

/// Its digits alone, for they say more than the letters: sm_90a is meant by 9.0A. 0 if there are none, or too many.
int number_in(std::string_view target) {
  constexpr std::size_t most_digits = 4;
  int number = 0;
  std::size_t digits = 0;
  for (const char c : target) {
    if (c < '0' || c > '9') continue;
    if (++digits > most_digits) return 0;
    number = 10 * number + (c - '0');
  }
  return number;
}

/// "" if none is near.
std::string nearest_target(std::string_view word) {
  constexpr int one_generation = 10;
  if (typing_distance(word, every_target) == 1) return every_target;
  std::string nearest;
  int least = one_generation + 1;
  for (const std::string& target : known_targets()) {
    const int distance = std::abs(number_in(target) - number_in(word));
    if (distance >= least) continue;
    least = distance;
    nearest = target;
  }
  return nearest;
}

void require_target(const std::string& list, const std::string& word) {
  try {
    for_first_kernel(word, false, [](const mgemm_kernel_info&) {});
  } catch (const mamba_gemm::Error& error) {
    if (error.status() != MGEMM_INVALID_ARGUMENT) throw;
    const std::string nearest = nearest_target(word);
    bad_input("--arch {}: {} (each also as compute_80 or 80), and {}{}", list, error.what(), every_target,
              nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
}

}  // namespace

std::string chosen_targets(const std::string& text) {
  std::vector<std::string> words = split(text);
  if (words.empty()) words.emplace_back();
  for (const std::string& word : words)
    if (word != every_target) require_target(text, word);
  return std::ranges::find(words, every_target) != words.end() ? every_target : text;
}

}  // namespace mgemm::cli
