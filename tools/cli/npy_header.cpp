#include "npy_header.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include "failure.hpp"

namespace mgemm::cli {
namespace {

/// One pass over the text, one byte of look-ahead, no recursion.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NpyHeader header() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{', "the dictionary");
    while (!accept('}')) {
      const std::string key = string("a key");
      expect(':', "a value");
      if (key == "descr") {
        store(key, descr, dtype());
      } else if (key == "fortran_order") {
        store(key, fortran_order, boolean());
      } else if (key == "shape") {
        store(key, shape, tuple());
      } else {
        fail("unknown key {}; descr, fortran_order and shape are read", in_quotes(key));
      }
      if (accept(',')) continue;
      expect('}', "the end of the dictionary");
      break;
    }
    if (peek()) fail("something follows the dictionary");
    if (!descr) fail("the key 'descr' is missing");
    if (!fortran_order) fail("the key 'fortran_order' is missing");
    if (!shape) fail("the key 'shape' is missing");
    return {std::move(*descr), *fortran_order, std::move(*shape)};
  }

 private:
  static constexpr std::size_t most_dimensions = 64;  // NumPy's own limit

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    bad_input("bad header at byte {}: {}", at_, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename T>
  void store(const std::string& key, std::optional<T>& slot, T value) const {
    if (slot) fail("the key {} occurs twice", in_quotes(key));
    slot = std::move(value);
  }

  /// The same about the value that begins at a byte: what is there, and what may be.
  template <typename... Args>
  [[noreturn]] void fail_value(const char* key, std::size_t begin, const char* accepted,
                               fmt::format_string<Args...> format, Args&&... args) const {
    fail("{} {}: {}; {}", key, in_quotes(value_at(begin)), fmt::format(format, std::forward<Args>(args)...), accepted);
  }

  /// As far as it can be told: up to a comma or the end of the dictionary outside of brackets.
  std::string_view value_at(std::size_t begin) const {
    int depth = 0;
    std::size_t end = begin;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
    }
    return text_.substr(begin, end - begin);
  }

  /// The next byte that is not white space.
  std::optional<char> peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size());
    if (at_ == text_.size()) return std::nullopt;
    return text_[at_];
  }

  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const char* what) {
    if (!accept(wanted)) fail("'{}' expected for {}", wanted, what);
  }

  std::string string(const char* what) {
    const std::optional<char> quote = peek();
    if (!quote || (*quote != '\'' && *quote != '"')) fail("a string expected for {}", what);
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find(*quote, begin);
    if (end == std::string_view::npos) fail("the string {} does not end", in_quotes(text_.substr(begin)));
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.find('\\') != std::string_view::npos) fail("an escape in the string {}; none is read", in_quotes(value));
    at_ = end + 1;
    return std::string(value);
  }

  std::string dtype() {
    constexpr const char* accepted = "only '<f4' is read";
    const char first = peek().value_or('\0');
    if (first == '[') fail_value("descr", at_, accepted, "a structured dtype");
    if (first != '\'' && first != '"') fail_value("descr", at_, accepted, "a string expected");
    return string("descr");
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail_value("fortran_order", at_, "only False is read", "True or False expected");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    peek();
    const std::size_t begin = at_;
    if (!accept('(')) fail_shape(begin, "'(' expected");
    while (!accept(')')) {
      if (sizes.size() == most_dimensions) fail_shape(begin, "more than {} dimensions", most_dimensions);
      sizes.push_back(size(begin));
      if (accept(',')) continue;
      if (!accept(')')) fail_shape(begin, "',' or ')' expected");
      if (sizes.size() == 1) fail_shape(begin, "a tuple of one size needs its comma");
      break;
    }
    return sizes;
  }

  template <typename... Args>
  [[noreturn]] void fail_shape(std::size_t shape, fmt::format_string<Args...> format, Args&&... args) const {
    fail_value("shape", shape, "a tuple of sizes from 0 to 2^63 - 1 such as (3, 4) is read", format,
               std::forward<Args>(args)...);
  }

  /// Of the shape that begins at that byte.
  std::int64_t size(std::size_t shape) {
    const std::optional<char> first = peek();
    if (first == '-') fail_shape(shape, "a negative size");
    const std::size_t begin = at_;
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", begin), text_.size());
    const std::string_view digits = text_.substr(begin, end - begin);
    if (digits.empty()) fail_shape(shape, "a size expected");
    if (digits.size() > 1 && digits.front() == '0') fail_shape(shape, "a size with leading zeros");
    std::int64_t value = 0;
    const std::from_chars_result result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc{}) fail_shape(shape, "the size {} is absurd", in_quotes(digits));
    at_ = end;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_header(std::string_view text) { return Parser(text).header(); }

std::string make_npy_preamble(std::span<const std::int64_t> shape) {
  constexpr std::size_t fixed = 10;  // magic, version, header length
  constexpr std::size_t multiple = 64;
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
  const std::size_t used = fixed + header.size() + 1;
  header.append((multiple - used % multiple) % multiple, ' ');
  header.push_back('\n');
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble.push_back(static_cast<char>(header.size() & 0xffU));
  preamble.push_back(static_cast<char>(header.size() >> 8U));
  return preamble + header;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string result = "'";
  for (const char c : text.substr(0, most)) {
    if (c >= ' ' && c <= '~') {
      result.push_back(c);
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (text.size() > most ? "...'" : "'");
}

}  // namespace mgemm::cli
