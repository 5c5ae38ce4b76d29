#include "cache/location.hpp"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"

namespace mgemm {
namespace {

bool is_absolute(const char* text) { return text != nullptr && text[0] == '/'; }

}  // namespace

CacheLocation cache_location(const GetEnvironment& environment) {
  if (const char* own = environment("MAMBA_GEMM_CACHE"); own != nullptr && own[0] != '\0') {
    const std::string_view text = own;
    if (text == "0" || text == "off") return {"", fmt::format("MAMBA_GEMM_CACHE is '{}'", text)};
    if (is_absolute(own)) return {std::string(text), "MAMBA_GEMM_CACHE"};
    return {"", fmt::format("MAMBA_GEMM_CACHE is '{}', which is not an absolute path, '0' or 'off'", text), true};
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

CacheLocation cache_location_for(const char* cache_dir) {
  if (cache_dir == nullptr) return cache_location();
  if (std::string_view(cache_dir) == "off") return {"", "the context's cache_dir is 'off'"};
  if (!is_absolute(cache_dir)) invalid("options.cache_dir is '{}'; it must be an absolute path or 'off'", cache_dir);
  return {cache_dir, "the context's cache_dir"};
}

}  // namespace mgemm
