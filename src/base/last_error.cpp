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

}  // namespace

void set_last_error(std::string_view text, int driver_code) noexcept {
  size_t length = std::min(text.size(), last_error.text.size() - 1);
  // Cut at a character's start, so that a truncated text is still UTF-8.
  if (length < text.size()) {
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }
  std::memcpy(last_error.text.data(), text.data(), length);
  last_error.text[length] = '\0';
  last_error.driver_code = driver_code;
}

const char* last_error_text() noexcept { return last_error.text.data(); }

int last_driver_code() noexcept { return last_error.driver_code; }

}  // namespace mgemm
