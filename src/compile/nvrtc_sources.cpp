#include "compile/nvrtc_sources.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "compile/loader_path.hpp"

namespace mgemm {
namespace {

namespace fs = std::filesystem;

/// The folders directly in `base` whose names begin with `prefix`, by name; unreadable ones count as absent.
std::vector<fs::path> subfolders(const fs::path& base, std::string_view prefix = {}) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(base, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(ignored)) {
      found.push_back(entry->path());
    }
  }
  std::ranges::sort(found);
  return found;
}

/// nvidia/*/lib: how NVIDIA's Python packages lay out their libraries.
void add_packages(const fs::path& nvidia, std::vector<fs::path>& places) {
  for (const fs::path& package : subfolders(nvidia)) places.push_back(package / "lib");
}

void add_site_packages(const fs::path& prefix, std::vector<fs::path>& places) {
  for (const fs::path& python : subfolders(prefix / "lib", "python3")) {
    add_packages(python / "site-packages" / "nvidia", places);
  }
}

/// The value of a variable; one that is set to nothing counts as not set.
std::string value_of(const SearchEnvironment& environment, const char* name) {
  return environment.variable(name).value_or("");
}

SourcePlaces toolkit_variable(const SearchEnvironment& environment, const char* name) {
  const std::string value = value_of(environment, name);
  if (value.empty()) return {name, "not set", {}};
  const fs::path home(value);
  SourcePlaces result{name, value, {home / "lib64", home / "lib"}};
  for (const fs::path& target : subfolders(home / "targets")) result.places.push_back(target / "lib");
  return result;
}

SourcePlaces cuda_home(const SearchEnvironment& environment) { return toolkit_variable(environment, "CUDA_HOME"); }
SourcePlaces cuda_path(const SearchEnvironment& environment) { return toolkit_variable(environment, "CUDA_PATH"); }

SourcePlaces beside_ourselves(const SearchEnvironment& environment) {
  if (environment.own_file.empty()) return {"beside the library", "own path unknown", {}};
  const fs::path nvidia = (environment.own_file.parent_path() / ".." / "nvidia").lexically_normal();
  SourcePlaces result{"beside the library", (nvidia / "*/lib").string(), {}};
  add_packages(nvidia, result.places);
  return result;
}

SourcePlaces virtual_env(const SearchEnvironment& environment) {
  const std::string value = value_of(environment, "VIRTUAL_ENV");
  if (value.empty()) return {"VIRTUAL_ENV", "not set", {}};
  SourcePlaces result{"VIRTUAL_ENV", value + "/lib/python3*/site-packages/nvidia/*/lib", {}};
  add_site_packages(value, result.places);
  return result;
}

SourcePlaces conda(const SearchEnvironment& environment) {
  const std::string value = value_of(environment, "CONDA_PREFIX");
  if (value.empty()) return {"CONDA_PREFIX", "not set", {}};
  SourcePlaces result{"CONDA_PREFIX", value + "/lib and its site-packages/nvidia/*/lib", {fs::path(value) / "lib"}};
  add_site_packages(value, result.places);
  return result;
}

constexpr std::array<std::string_view, 8> nvidia_libraries{
    "libnvrtc.so", "libcudart.so",    "libcublas.so",   "libcublasLt.so",
    "libcudnn",    "libnvJitLink.so", "libcusparse.so", "libcufft.so",
};

/// The path in a line of /proc/self/maps, if it is one of NVIDIA's libraries that still exists.
std::optional<fs::path> mapped_library(const std::string& line) {
  const std::size_t start = line.find('/');
  if (start == std::string::npos || line.ends_with(" (deleted)")) return std::nullopt;
  fs::path path(line.substr(start));
  const std::string name = path.filename().string();
  const bool wanted =
      std::ranges::any_of(nvidia_libraries, [&](std::string_view known) { return name.starts_with(known); });
  if (!wanted) return std::nullopt;
  return path;
}

SourcePlaces mapped(const SearchEnvironment& environment) {
  SourcePlaces result{"libraries already loaded", "none of NVIDIA's", {}};
  const auto add = [&](const fs::path& folder) {
    if (std::ranges::find(result.places, folder) == result.places.end()) result.places.push_back(folder);
  };
  std::ifstream maps(environment.maps);
  for (std::string line; std::getline(maps, line);) {
    const std::optional<fs::path> library = mapped_library(line);
    if (!library) continue;
    const fs::path folder = library->parent_path();
    add(folder);
    // Each of NVIDIA's Python packages has a folder of its own, with NVRTC's beside that of what is loaded.
    const fs::path packages = folder.parent_path().parent_path();
    if (folder.filename() == "lib" && packages.filename() == "nvidia") {
      for (const fs::path& package : subfolders(packages)) add(package / "lib");
    }
  }
  if (!result.places.empty()) result.note = "in " + result.places.front().string();
  return result;
}

SourcePlaces by_loader(const SearchEnvironment& environment) {
  SourcePlaces result{"dynamic loader", "libnvrtc.so.13, libnvrtc.so.12", {}};
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    const std::string path = environment.loader(name);
    if (!path.empty()) result.places.emplace_back(path);
  }
  return result;
}

SourcePlaces installed_toolkit(const SearchEnvironment& environment) {
  const fs::path folder = environment.toolkit / "lib64";
  return {"installed toolkit", folder.string(), {folder}};
}

using Source = SourcePlaces (*)(const SearchEnvironment&);

constexpr std::array<Source, 8> sources{cuda_home, cuda_path, beside_ourselves, virtual_env,
                                        conda,     mapped,    by_loader,        installed_toolkit};

std::optional<std::string> variable_of_process(const char* name) {
  const char* const value = secure_getenv(name);  // a set-uid program must not load what its caller names
  if (value == nullptr) return std::nullopt;
  return value;
}

fs::path path_of_ourselves() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&path_of_ourselves), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  fs::path path = fs::canonical(info.dli_fname, error);
  return error ? fs::path(info.dli_fname) : path;
}

}  // namespace

SearchEnvironment process_environment() {
  SearchEnvironment environment;
  environment.variable = variable_of_process;
  environment.own_file = path_of_ourselves();
  environment.loader = path_by_loader;
  return environment;
}

std::optional<SourcePlaces> override_place(const SearchEnvironment& environment) {
  const std::string value = value_of(environment, override_variable);
  if (value.empty()) return std::nullopt;
  return SourcePlaces{override_variable, value, {value}};
}

std::vector<SourcePlaces> all_places(const SearchEnvironment& environment) {
  std::vector<SourcePlaces> result;
  result.reserve(sources.size());
  for (const Source& source : sources) result.push_back(source(environment));
  return result;
}

}  // namespace mgemm
