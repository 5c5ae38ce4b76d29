#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mgemm {

/// Everything outside the process's own code that the search for NVRTC looks at; tests give it a tree of their own.
struct SearchEnvironment {
  std::function<std::optional<std::string>(const char* name)> variable;
  std::filesystem::path own_file;                              // the shared library we are in
  std::filesystem::path maps = "/proc/self/maps";              // what is mapped into this process
  std::filesystem::path toolkit = "/usr/local/cuda";           // where the toolkit's installer puts it
  std::function<std::string(const std::string& name)> loader;  // path of what dlopen would find by name; "" if nothing
};

/// Of this process.
SearchEnvironment process_environment();

/// One way of finding NVRTC and where it led: folders that may hold it, or files said to be it.
struct SourcePlaces {
  std::string source;
  std::string note;  // for people: the value of the variable, or why there is no place
  std::vector<std::filesystem::path> places;
};

/// The variable that names the NVRTC to use. While it is set nothing else is tried.
constexpr const char* override_variable = "MAMBA_GEMM_NVRTC";

std::optional<SourcePlaces> override_place(const SearchEnvironment& environment);

/// All other sources in order of preference.
std::vector<SourcePlaces> all_places(const SearchEnvironment& environment);

}  // namespace mgemm
