#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mgemm {

/// Appends the text of one JSON value to a string as it goes, without a tree in between: nothing is thrown but for want
/// of memory, and then nothing needs to be torn down. Keys are the caller's to keep apart.
///
///   JsonWriter json(text);
///   json.object([&] {
///     json.member("count", 2);
///     json.member("names", [&] { json.array([&] { for (const auto& name : names) json.value(name); }); });
///   });
class JsonWriter {
 public:
  explicit JsonWriter(std::string& text) noexcept : text_(text) {}

  /// `body` writes the members.
  template <std::invocable Body>
  void object(Body&& body) {
    enclosed('{', '}', std::forward<Body>(body));
  }
  /// `body` writes the elements.
  template <std::invocable Body>
  void array(Body&& body) {
    enclosed('[', ']', std::forward<Body>(body));
  }

  /// Bytes that are not UTF-8 become U+FFFD, one for each longest start of a character, as Unicode recommends.
  void value(std::string_view text);
  void value(std::nullptr_t);
  template <std::same_as<bool> Bool>
  void value(Bool boolean) {
    put(boolean ? "true" : "false");
  }
  template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>) void value(Number number) {
    char digits[24];  // 20 and a sign are the most
    const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
    put({digits, static_cast<size_t>(end - digits)});
  }

  /// nullopt is null.
  template <typename T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      value(nullptr);
    }
  }

  /// One member of an object. `content` is a value, or writes one when called.
  template <typename Content>
  void member(std::string_view key, Content&& content) {
    put_key(key);
    if constexpr (std::invocable<Content>) {
      std::forward<Content>(content)();
    } else {
      value(std::forward<Content>(content));
    }
  }

 private:
  template <typename Body>
  void enclosed(char opening, char closing, Body&& body) {
    put({&opening, 1});
    needs_comma_ = false;
    std::forward<Body>(body)();
    text_ += closing;
    needs_comma_ = true;
  }
  void put(std::string_view token);
  void put_key(std::string_view key);

  std::string& text_;
  bool needs_comma_ = false;
};

}  // namespace mgemm
