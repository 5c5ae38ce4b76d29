#include "compile/helper_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cache/trust.hpp"

namespace mgemm {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view program_name = "mamba-gemm-assemble";

struct Place {
  std::string source;
  fs::path path;
};

/// Whoever owns the library could do more in this process than start a program.
std::optional<uid_t> owner_of_library(const SearchEnvironment& environment) {
  struct stat library {};
  if (::stat(environment.own_file.c_str(), &library) != 0) return {};
  return library.st_uid;
}

struct Looked {
  os::Opened file;
  struct stat status {};
  std::string problem;  // why it cannot be looked at
};

/// At what is there itself, without opening it for anything else. `path` has no links.
Looked look_at(const fs::path& path) {
  Looked looked{os::open_at(AT_FDCWD, path.string(), O_PATH | O_NOFOLLOW), {}, {}};
  int error = looked.file.error;
  if (error == 0) error = os::status_of(looked.file.file.get(), looked.status);
  if (error != 0) looked.problem = os::message(error);
  return looked;
}

/// Why somebody else could have put something here; "" if nobody could.
std::string reason_to_distrust(const Looked& looked, const fs::path& path, std::optional<uid_t> owner) {
  return distrust_of(looked.file.file.get(), looked.status, path.string(), owner).rule;
}

/// Why a file, whose path has no links, cannot be the helper; "" if it can.
std::string reason_to_refuse(const fs::path& path, const SearchEnvironment& environment) {
  const Looked program = look_at(path);
  if (!program.problem.empty()) return program.problem;
  if (!S_ISREG(program.status.st_mode)) return "is not a regular file";
  if (::access(path.c_str(), X_OK) != 0) return "is not executable";
  const std::optional<uid_t> owner = owner_of_library(environment);
  std::string reason = reason_to_distrust(program, path, owner);
  // Whoever can write to any folder on the way can put another program at the path.
  for (fs::path folder = path; reason.empty() && folder != folder.root_path();) {
    folder = folder.parent_path();
    const Looked looked = look_at(folder);
    reason = looked.problem.empty() ? reason_to_distrust(looked, folder, owner) : looked.problem;
    if (!reason.empty()) reason = fmt::format("its folder {} {}", folder.string(), reason);
  }
  return reason;
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
