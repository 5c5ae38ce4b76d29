#include "base/json_writer.hpp"

#include <algorithm>
#include <array>

namespace mgemm {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

/// The first bytes of characters, and what may follow them: Unicode's table of well-formed UTF-8. Only the second byte
/// has bounds of its own, which keep out overlong forms, surrogates and what is beyond U+10FFFF.
struct Lead {
  unsigned char first, last;
  size_t length;
  unsigned char second_first, second_last;
};
constexpr std::array<Lead, 9> leads{{{0x00, 0x7f, 1, 0, 0},
                                     {0xc2, 0xdf, 2, 0x80, 0xbf},
                                     {0xe0, 0xe0, 3, 0xa0, 0xbf},
                                     {0xe1, 0xec, 3, 0x80, 0xbf},
                                     {0xed, 0xed, 3, 0x80, 0x9f},
                                     {0xee, 0xef, 3, 0x80, 0xbf},
                                     {0xf0, 0xf0, 4, 0x90, 0xbf},
                                     {0xf1, 0xf3, 4, 0x80, 0xbf},
                                     {0xf4, 0xf4, 4, 0x80, 0x8f}}};

constexpr bool within(unsigned char byte, unsigned char first, unsigned char last) {
  return first <= byte && byte <= last;
}

/// How many bytes at the front belong together, at least 1, and whether they are a character.
struct Front {
  size_t length;
  bool is_character;
};

Front front_of(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto* const lead =
      std::find_if(leads.begin(), leads.end(), [&](const Lead& row) { return within(byte(0), row.first, row.last); });
  if (lead == leads.end()) return {1, false};
  for (size_t i = 1; i < lead->length; ++i) {
    const bool follows = i < text.size() && (i == 1 ? within(byte(i), lead->second_first, lead->second_last)
                                                    : within(byte(i), 0x80, 0xbf));
    if (!follows) return {i, false};
  }
  return {lead->length, true};
}

constexpr std::array<std::pair<char, std::string_view>, 7> escapes{
    {{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}}};

void append_character(std::string& text, std::string_view character) {
  constexpr unsigned char first_printable = 0x20;
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character.front());
  const auto* const escape =
      std::find_if(escapes.begin(), escapes.end(), [&](const auto& row) { return row.first == character.front(); });
  if (escape != escapes.end()) {
    text += escape->second;
  } else if (byte < first_printable) {
    text += "\\u00";
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  } else {
    text += character;
  }
}

void append_quoted(std::string& text, std::string_view raw) {
  text += '"';
  while (!raw.empty()) {
    const Front front = front_of(raw);
    if (front.is_character) {
      append_character(text, raw.substr(0, front.length));
    } else {
      text += replacement;
    }
    raw.remove_prefix(front.length);
  }
  text += '"';
}

}  // namespace

void JsonWriter::put(std::string_view token) {
  if (needs_comma_) text_ += ',';
  text_ += token;
  needs_comma_ = true;
}

void JsonWriter::put_key(std::string_view key) {
  value(key);
  text_ += ':';
  needs_comma_ = false;
}

void JsonWriter::value(std::string_view text) {
  put({});
  append_quoted(text_, text);
}

void JsonWriter::value(std::nullptr_t) { put("null"); }

}  // namespace mgemm
