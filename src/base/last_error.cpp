#include "base/last_error.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace mgemm {
namespace {

struct LastError {
  std::array<char, 2048> text{};
  int driver_code = 0;
};

thread_local LastError last_error;

/// Bytes of the UTF-8 sequence at the start of the text, 0 if it is none. (Unicode 15, table 3-7.)
size_t sequence_length(const char* text, size_t left) {
  const auto lead = static_cast<unsigned char>(*text);
  const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length > left) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond the last character.
  const unsigned char second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool is_bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return is_bad ? 0 : length;
}

/// Callers' strings may hold anything; what a terminal or a decoder would stumble over becomes '?'.
void make_printable(char* text, size_t length) {
  for (size_t i = 0; i < length;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const size_t step = sequence_length(text + i, length - i);
    if (is_control || step == 0) text[i] = '?';
    i += step == 0 ? 1 : step;
  }
}

}  // namespace

void set_last_error(std::string_view text, int driver_code) noexcept {
  size_t length = std::min(text.size(), last_error.text.size() - 1);
  // Cut at a character's start, so that a truncated text is still UTF-8.
  if (length < text.size()) {
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }
  std::memcpy(last_error.text.data(), text.data(), length);
  last_error.text[length] = '\0';
  make_printable(last_error.text.data(), length);
  last_error.driver_code = driver_code;
}

const char* last_error_text() noexcept { return last_error.text.data(); }

int last_driver_code() noexcept { return last_error.driver_code; }

}  // namespace mgemm
