// The little of PTX that the fakes read and write.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mgemm::fake {

struct Parameter {
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
};

/// Every `.entry NAME(...)` of a PTX text with its .param declarations.
std::vector<Entry> entries_in(std::string_view ptx);

/// The PTX declaration of an entry with an empty body.
std::string entry_text(const Entry& entry);

/// Scanning: the word, or the parenthesised text without its outer parentheses, at the front; "" if there is none.
std::string take_word(std::string_view& text);
std::string take_parentheses(std::string_view& text);

}  // namespace mgemm::fake
