#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mgemm {

/// Where compiled code is kept, and which rule says so.
struct CacheLocation {
  std::string path;  // absolute; "" if there is no cache
  std::string rule;
  bool refused = false;  // a variable asked for something that is not allowed; worth a warning
};

constexpr const char* cache_variable = "MAMBA_GEMM_CACHE";
constexpr const char* cache_max_variable = "MAMBA_GEMM_CACHE_MAX";

/// What is wrong with a value of either; "" if nothing, or if it is empty, which is as if it were not set.
std::string cache_objection(std::string_view value);
std::string cache_max_objection(std::string_view value);

using GetEnvironment = std::function<const char*(const char* name)>;

/// MAMBA_GEMM_CACHE (an absolute path, or "0" or "off"), else $XDG_CACHE_HOME/mamba-gemm, else $HOME/.cache/mamba-gemm.
/// Never a folder that others may have made before, such as one in /tmp.
CacheLocation cache_location(const GetEnvironment& environment);

/// The same from this process's environment; warns once if a variable was refused.
CacheLocation cache_location();

/// What a caller's cache_dir says: nullptr is the environment's, "off" none, else an absolute path. `argument` is what
/// the caller knows it as.
CacheLocation cache_location_for(const char* cache_dir, std::string_view argument);

constexpr std::uint64_t default_cache_max = std::uint64_t{256} << 20U;

/// A number of bytes: digits, then nothing, K, M or G (of 1024) in either case.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// How many bytes a cache may have: MAMBA_GEMM_CACHE_MAX, else 256 MiB. Warns once if the variable cannot be read.
std::uint64_t cache_max();

}  // namespace mgemm
