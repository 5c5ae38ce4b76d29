#include "cache/location.hpp"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace mgemm {
namespace {

bool is_absolute(const char* text) { return text != nullptr && text[0] == '/'; }
bool is_off(std::string_view text) { return text == "0" || text == "off"; }

}  // namespace

std::string cache_objection(std::string_view value) {
  if (value.empty() || value.front() == '/' || is_off(value)) return {};
  return fmt::format("{} is '{}', which is not an absolute path, '0' or 'off'", cache_variable, value);
}

std::string cache_max_objection(std::string_view value) {
  if (value.empty() || parse_bytes(value)) return {};
  return fmt::format("{} is '{}'; it must be a number of bytes, or one with K, M or G", cache_max_variable, value);
}

CacheLocation cache_location(const GetEnvironment& environment) {
  if (const char* own = environment(cache_variable); own != nullptr && own[0] != '\0') {
    const std::string_view text = own;
    if (is_off(text)) return {"", fmt::format("{} is '{}'", cache_variable, text)};
    if (is_absolute(own)) return {std::string(text), cache_variable};
    return {"", cache_objection(text), true};
  }
  if (const char* xdg = environment("XDG_CACHE_HOME"); is_absolute(xdg)) {
    return {std::string(xdg) + "/mamba-gemm", "XDG_CACHE_HOME"};
  }
  if (const char* home = environment("HOME"); is_absolute(home)) {
    return {std::string(home) + "/.cache/mamba-gemm", "HOME"};
  }
  return {"", "none of MAMBA_GEMM_CACHE, XDG_CACHE_HOME and HOME is an absolute path"};
}

CacheLocation cache_location() {
  CacheLocation location = cache_location([](const char* name) -> const char* { return std::getenv(name); });
  static std::atomic<bool> warned{false};
  if (location.refused && !warned.exchange(true)) log(MGEMM_LOG_WARN, "running without a cache: {}", location.rule);
  return location;
}

CacheLocation cache_location_for(const char* cache_dir, std::string_view argument) {
  if (cache_dir == nullptr) return cache_location();
  if (std::string_view(cache_dir) == "off") return {"", fmt::format("{} is 'off'", argument)};
  if (!is_absolute(cache_dir)) invalid("{} is '{}'; it must be an absolute path or 'off'", argument, cache_dir);
  return {cache_dir, std::string(argument)};
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return number;
  constexpr std::string_view suffixes = "KMGkmg";
  const size_t place = suffix.size() == 1 ? suffixes.find(suffix[0]) : std::string_view::npos;
  if (place == std::string_view::npos) return std::nullopt;
  return checked_mul(number, std::uint64_t{1} << (10 * (place % 3 + 1)));
}

std::uint64_t cache_max() {
  const char* const text = std::getenv(cache_max_variable);
  if (text == nullptr || text[0] == '\0') return default_cache_max;
  if (const auto bytes = parse_bytes(text)) return *bytes;
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) {
    log(MGEMM_LOG_WARN, "{}. Using 256M.", cache_max_objection(text));
  }
  return default_cache_max;
}

}  // namespace mgemm
