#include "compile/helper_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace mgemm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view program_name = "mamba-gemm-assemble";

struct Place {
  std::string source;
  fs::path path;
};

/// Whoever owns the library could do more in this process than start a program.
bool trusted(uid_t owner, const SearchEnvironment& environment) {
  if (owner == 0 || owner == ::geteuid()) return true;
  struct stat library {};
  return ::stat(environment.own_file.c_str(), &library) == 0 && library.st_uid == owner;
}

/// Why somebody else could have put something here; "" if nobody could.
std::string reason_to_distrust(const struct stat& status, const SearchEnvironment& environment) {
  if (!trusted(status.st_uid, environment)) return fmt::format("belongs to user {}", status.st_uid);
  const bool shared_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & S_IWOTH) != 0 && !shared_folder) return "may be written by everybody";
  const bool own_group = status.st_uid == ::geteuid() && status.st_gid == ::getegid();
  if ((status.st_mode & S_IWGRP) != 0 && !own_group && !shared_folder) {
    return fmt::format("may be written by group {}", status.st_gid);
  }
  return {};
}

/// Why a file cannot be the helper; "" if it can.
std::string reason_to_refuse(const fs::path& path, const SearchEnvironment& environment) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::generic_category().message(errno);
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  if (::access(path.c_str(), X_OK) != 0) return "is not executable";
  if (std::string reason = reason_to_distrust(status, environment); !reason.empty()) return reason;
  const fs::path folder = path.parent_path();
  if (::stat(folder.c_str(), &status) != 0) return std::generic_category().message(errno);
  const std::string reason = reason_to_distrust(status, environment);
  return reason.empty() ? reason : fmt::format("its folder {}", reason);
}

HelperLocation judge(const Place& place, const SearchEnvironment& environment) {
  std::error_code error;
  const fs::path resolved = fs::canonical(place.path, error);
  const std::string reason = error ? error.message() : reason_to_refuse(resolved, environment);
  if (reason.empty()) return {resolved.string(), place.source, {}};
  return {{}, place.source, fmt::format("{}: {}", place.path.string(), reason)};
}

bool is_off(std::string_view value) { return value == "off" || value == "0"; }

HelperLocation by_variable(const std::string& value, const SearchEnvironment& environment) {
  if (is_off(value)) return {{}, helper_variable, fmt::format("{} is '{}'", helper_variable, value)};
  if (!value.starts_with('/')) {
    return {{},
            helper_variable,
            fmt::format("{} is '{}', which is neither an absolute path nor 'off'", helper_variable, value)};
  }
  HelperLocation location = judge({helper_variable, value}, environment);
  if (location.path.empty()) location.reason = fmt::format("{} is refused: {}", helper_variable, location.reason);
  return location;
}

}  // namespace

bool machine_code_is_off(const SearchEnvironment& environment) {
  return is_off(environment.variable(helper_variable).value_or(""));
}

HelperLocation find_helper(const SearchEnvironment& environment) {
  const std::string value = environment.variable(helper_variable).value_or("");
  if (!value.empty()) return by_variable(value, environment);
  if (environment.own_file.empty()) return {{}, {}, "the library's own path is not known"};
  const fs::path home = environment.own_file.parent_path();
  // The libraries of an installation are in lib, lib64 or, with Debian's layout, a folder further down.
  const std::array<Place, 3> places{{{"beside the library", home / program_name},
                                     {"libexec", home / "../libexec/mamba-gemm" / program_name},
                                     {"libexec", home / "../../libexec/mamba-gemm" / program_name}}};
  std::string reasons;
  for (const Place& place : places) {
    HelperLocation location = judge({place.source, place.path.lexically_normal()}, environment);
    if (!location.path.empty()) return location;
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", location.reason);
  }
  return {{}, {}, fmt::format("{} was not found ({}); {} may name it", program_name, reasons, helper_variable)};
}

}  // namespace mgemm
