#include "fake_cuda/ptx_text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <sstream>

// Scanned by hand: <regex> under the sanitizers is beyond this compiler's warnings.
namespace mgemm::fake {
namespace {

constexpr std::size_t bits_per_byte = 8;

/// The number at the end of ".u64", or in "name[96]" from its bracket on.
std::size_t number_in(const std::string& token, std::size_t from = 0) {
  const std::size_t digit = token.find_first_of("0123456789", from);
  return digit == std::string::npos ? 0 : std::stoul(token.substr(digit));
}

/// ".param .u64 x", ".param .align 8 .b8 x[96]", ".param .u64 .ptr .align 1 x": the alignment behind .ptr is not ours.
Parameter parameter_of(const std::string& declaration) {
  std::istringstream tokens(declaration);
  std::size_t element = 0;
  std::size_t alignment = 0;
  std::size_t count = 1;
  bool pointee = false;
  for (std::string token; tokens >> token;) {
    if (token == ".ptr") pointee = true;
    if (token == ".align") {
      tokens >> token;
      if (!pointee) alignment = number_in(token);
    } else if (token.front() == '.' && element == 0) {
      element = number_in(token) / bits_per_byte;
    } else if (const std::size_t bracket = token.find('['); bracket != std::string::npos) {
      count = number_in(token, bracket);
    }
  }
  return {element * count, alignment != 0 ? alignment : element};
}

std::vector<Parameter> parameters_of(const std::string& list) {
  std::vector<Parameter> parameters;
  std::istringstream declarations(list);
  for (std::string declaration; std::getline(declarations, declaration, ',');) {
    if (declaration.find(".param") != std::string::npos) parameters.push_back(parameter_of(declaration));
  }
  return parameters;
}

}  // namespace

void skip_spaces(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
}

std::string take_word(std::string_view& text) {
  skip_spaces(text);
  std::size_t length = 0;
  while (length < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_' || text[length] == '$')) {
    ++length;
  }
  std::string word(text.substr(0, length));
  text.remove_prefix(length);
  skip_spaces(text);
  return word;
}

std::string take_parentheses(std::string_view& text) {
  if (!text.starts_with('(')) return {};
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) break;
  }
  std::string inside(text.substr(1, end - 1));
  text.remove_prefix(end == text.size() ? end : end + 1);
  skip_spaces(text);
  return inside;
}

std::vector<Entry> entries_in(std::string_view ptx) {
  constexpr std::string_view keyword = ".entry";
  std::vector<Entry> entries;
  for (std::size_t at = ptx.find(keyword); at != std::string_view::npos; at = ptx.find(keyword)) {
    ptx.remove_prefix(at + keyword.size());
    Entry entry{take_word(ptx), {}};
    entry.parameters = parameters_of(take_parentheses(ptx));
    if (!entry.name.empty()) entries.push_back(entry);
  }
  return entries;
}

std::string entry_text(const Entry& entry) {
  std::string parameters;
  for (std::size_t index = 0; index < entry.parameters.size(); ++index) {
    const Parameter& parameter = entry.parameters[index];
    parameters += fmt::format("{}\n  .param .align {} .b8 {}_param_{}[{}]", index == 0 ? "" : ",", parameter.alignment,
                              entry.name, index, parameter.bytes);
  }
  return fmt::format(".visible .entry {}({}\n)\n{{\n  ret;\n}}\n", entry.name, parameters);
}

}  // namespace mgemm::fake
