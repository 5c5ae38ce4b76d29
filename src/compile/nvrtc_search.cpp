#include "compile/nvrtc_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "compile/nvrtc_load.hpp"

namespace mgemm {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> library_names{"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::string_view library_prefix = "libnvrtc.so.";
constexpr std::string_view builtins_prefix = "libnvrtc-builtins.so.";
constexpr std::string_view serves = "serves";
constexpr std::string_view serves_machine_code = "serves, with machine code alone: the driver is too old for its PTX";

/// Takes the number at the front of `text`.
bool take_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// The numbers behind `prefix` in a file's name: 12.8 with two parts, 12.8.93 with three, the major version alone with
/// one.
struct NamedVersion {
  NvrtcVersion version;
  int parts = 0;  // 0: another name
};

NamedVersion version_in_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  NamedVersion result;
  int patch = 0;
  for (int* number : {&result.version.major, &result.version.minor, &patch}) {
    if (!take_number(name, *number)) return {};
    ++result.parts;
    if (name.empty()) return result;
    if (name.front() != '.') return {};
    name.remove_prefix(1);
  }
  return result;
}

struct Builtins {
  fs::path path;
  NvrtcVersion version;
};

/// The files libnvrtc-builtins.so.X.Y of a folder, which are named by NVRTC's version in every distribution of it.
std::vector<Builtins> builtins_in(const fs::path& folder) {
  std::vector<Builtins> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const NamedVersion named = version_in_name(entry->path().filename().string(), builtins_prefix);
    if (named.parts == 2) found.push_back({entry->path(), named.version});
  }
  std::ranges::sort(found, {}, &Builtins::version);
  return found;
}

/// The last resort: the library says its version itself, {} if it cannot be asked.
using AskVersion = std::function<NvrtcVersion(const std::string& path)>;

/// Finds out version and builtins of a candidate, or says in its verdict why it is none.
void inspect(NvrtcCandidate& candidate, const AskVersion& ask) {
  const fs::path path(candidate.path);
  const NamedVersion named = version_in_name(path.filename().string(), library_prefix);
  std::vector<Builtins> builtins = builtins_in(path.parent_path());
  if (named.parts != 0) {
    std::erase_if(builtins, [&](const Builtins& file) { return file.version.major != named.version.major; });
  }
  if (named.parts >= 2) {
    candidate.version = named.version;
  } else if (builtins.size() == 1) {
    candidate.version = builtins.front().version;
  } else if (builtins.size() > 1) {
    candidate.version = ask(candidate.path);
    if (candidate.version.major == 0) candidate.verdict = "does not say its version";
  } else {
    candidate.verdict = fmt::format("no {}* of its version in its folder", builtins_prefix);
  }
  if (!candidate.verdict.empty()) return;

  const auto own = std::ranges::find(builtins, candidate.version, &Builtins::version);
  if (own == builtins.end()) {
    candidate.verdict = fmt::format("{}{} is missing from its folder", builtins_prefix, to_string(candidate.version));
    return;
  }
  candidate.builtins = own->path.string();
}

void judge_version(NvrtcCandidate& candidate, int driver_version) {
  if (!candidate.verdict.empty()) return;
  const NvrtcVersion newest{driver_version / 1000, driver_version % 1000 / 10};
  if (candidate.version < oldest_nvrtc) {
    candidate.verdict = fmt::format("older than {}, the oldest that is supported", to_string(oldest_nvrtc));
  } else if (driver_version != 0 && candidate.version > newest) {
    candidate.is_newer_than_driver = true;
    if (candidate.version.major == newest.major) return;
    candidate.verdict = fmt::format("newer than the driver, which takes up to {}", to_string(newest));
  }
}

/// Adds a file unless an earlier place led to the same one.
void add_file(const fs::path& file, const std::string& source, std::vector<NvrtcCandidate>& candidates) {
  std::error_code error;
  const fs::path resolved = fs::canonical(file, error);
  if (error || !fs::is_regular_file(resolved, error)) return;
  const std::string path = resolved.string();
  if (std::ranges::find(candidates, path, &NvrtcCandidate::path) != candidates.end()) return;
  candidates.push_back({path, source, {}, {}, {}});
}

void add_candidates(const SourcePlaces& source, bool by_name, std::vector<NvrtcCandidate>& candidates) {
  for (const fs::path& place : source.places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      add_file(place, source.source, candidates);
      continue;
    }
    for (const std::string_view name : library_names) {
      const fs::path file = place / name;
      const fs::path resolved = fs::canonical(file, error);
      // The toolkit's second build of NVRTC, which other names may link to.
      const bool alternative = resolved.filename().string().find(".alt") != std::string::npos;
      if (!error && (by_name || !alternative)) add_file(file, source.source, candidates);
    }
  }
}

NvrtcReport look_around(const SearchEnvironment& environment, int driver_version, const AskVersion& ask) {
  NvrtcReport report;
  const std::optional<SourcePlaces> only = override_place(environment);
  report.places = only ? std::vector{*only} : all_places(environment);
  for (const SourcePlaces& source : report.places) add_candidates(source, only.has_value(), report.candidates);
  for (NvrtcCandidate& candidate : report.candidates) {
    inspect(candidate, ask);
    judge_version(candidate, driver_version);
  }
  return report;
}

/// The candidates without a verdict, the best first: the newest that the driver can take, and where there is none the
/// one nearest to it.
std::vector<NvrtcCandidate*> by_preference(std::vector<NvrtcCandidate>& candidates) {
  std::vector<NvrtcCandidate*> order;
  for (NvrtcCandidate& candidate : candidates) {
    if (candidate.verdict.empty()) order.push_back(&candidate);
  }
  std::ranges::stable_sort(order, [](const auto* a, const auto* b) {
    if (a->is_newer_than_driver != b->is_newer_than_driver) return b->is_newer_than_driver;
    return a->is_newer_than_driver ? a->version < b->version : a->version > b->version;
  });
  return order;
}

void choose(NvrtcReport& report, const TryLoad& load) {
  for (NvrtcCandidate* candidate : by_preference(report.candidates)) {
    if (report.available) {
      candidate->verdict = fmt::format("not needed, {} serves", report.path);
      continue;
    }
    candidate->verdict = load(*candidate);
    if (!candidate->verdict.empty()) continue;
    candidate->verdict = candidate->is_newer_than_driver ? serves_machine_code : serves;
    report.available = true;
    report.path = candidate->path;
    report.version = candidate->version;
  }
}

std::string override_reason(const NvrtcReport& report) {
  const std::string& value = report.places.front().note;
  std::error_code error;
  std::string why =
      fs::exists(value, error) ? "which holds neither libnvrtc.so.13 nor libnvrtc.so.12" : "which does not exist";
  if (!report.candidates.empty()) {
    why.clear();
    for (const NvrtcCandidate& candidate : report.candidates) {
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", candidate.path, candidate.verdict);
    }
  }
  return fmt::format("{} is '{}', {}. Nothing else is tried while it is set", override_variable, value, why);
}

std::string search_reason(const NvrtcReport& report) {
  std::string text = fmt::format(
      "no usable NVRTC ({} or newer) was found; install it (pip install nvidia-cuda-nvrtc, or the CUDA toolkit) or set "
      "{} "
      "to its file. ",
      to_string(oldest_nvrtc), override_variable);
  if (!report.candidates.empty()) {
    text += "Found but unusable: ";
    for (const NvrtcCandidate& candidate : report.candidates) {
      text += fmt::format("{} ({}); ", candidate.path, candidate.verdict);
    }
  }
  text += "Looked in: ";
  for (const SourcePlaces& place : report.places) {
    text += fmt::format("{}{} ({})", &place == report.places.data() ? "" : "; ", place.source, place.note);
  }
  return text;
}

}  // namespace

NvrtcReport search_nvrtc(const SearchEnvironment& environment, int driver_version, const TryLoad& load) {
  NvrtcReport report = look_around(environment, driver_version, ask_nvrtc_version);
  choose(report, load);
  if (!report.available) report.reason = override_place(environment) ? override_reason(report) : search_reason(report);
  return report;
}

std::optional<NvrtcCandidate> nvrtc_by_name(const SearchEnvironment& environment, int driver_version) {
  bool unnamed = false;
  NvrtcReport report = look_around(environment, driver_version, [&](const std::string&) {
    unnamed = true;
    return NvrtcVersion{};
  });
  const std::vector<NvrtcCandidate*> order = by_preference(report.candidates);
  if (unnamed || order.empty()) return std::nullopt;
  return *order.front();
}

}  // namespace mgemm
