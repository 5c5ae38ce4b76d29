#include "bench/command_line.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

namespace mgemm::cli::bench {
namespace {

bool is_plain(char letter) {
  constexpr std::string_view others = "_-+=:,./@%";
  const bool alphanumeric =
      (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  return alphanumeric || others.find(letter) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      text += "'\\''";
    } else {
      text += letter;
    }
  }
  return text + "'";
}

}  // namespace

std::string shell_words(const std::string& words) {
  std::string text;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find('\0', at), words.size());
    if (!text.empty()) text += ' ';
    text += quoted(words.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return shell_words({std::istreambuf_iterator<char>(file), {}});
}

}  // namespace mgemm::cli::bench
