// The cache's side of doctor_checks.hpp.
#include <fmt/core.h>

#include "cache_report.hpp"
#include "doctor_checks.hpp"
#include "doctor_variables.hpp"

namespace mgemm::cli {
namespace {

constexpr const char* elsewhere = "name a folder on a local disk with MAMBA_GEMM_CACHE";

std::uint64_t number_in(const Json& object, const char* key) {
  const Json number = part(object, key);
  return number.is_number_unsigned() || number.is_number_integer() ? number.get<std::uint64_t>() : 0;
}

Check check_no_cache(const Json& environment, const std::string& rule) {
  if (is_to_blame(environment, "MAMBA_GEMM_CACHE")) return blame("cache", "MAMBA_GEMM_CACHE");
  return {"cache", State::note, fmt::format("none: {}; every process compiles anew", rule),
          "set MAMBA_GEMM_CACHE to the absolute path of a folder of your own"};
}

/// Why, without what to do about it, which the library's text ends with.
std::string rule_of(std::string refusal, const std::string& remedy) {
  const std::string end = "; " + remedy;
  if (!remedy.empty() && refusal.ends_with(end)) refusal.resize(refusal.size() - end.size());
  return refusal;
}

Check check_folder(const CacheFacts& cache) {
  const std::string path = shown(cache.totals, "path");
  Check check{"cache", State::ok, fmt::format("{} (by {})", path, shown(cache.totals, "rule"))};
  if (const Json refusal = part(cache.totals, "refusal"); refusal.is_string()) {
    check.state = State::problem;
    const Json remedy = part(cache.totals, "remedy");
    check.remedy = remedy.is_string() ? remedy.get<std::string>() : "name another folder with MAMBA_GEMM_CACHE";
    check.found += " is refused: " + rule_of(refusal.get<std::string>(), check.remedy);
    return check;
  }
  if (part(cache.totals, "exists") == true) return check;
  check.found += ", not there yet";
  if (cache.folder.is_read_only || cache.folder.may_write) return check;
  check.state = State::problem;
  check.found += fmt::format(", and {} may not be written to", cache.folder.existing);
  check.remedy = "name another folder with MAMBA_GEMM_CACHE";
  if (cache.folder.existing != "/")
    check.remedy = fmt::format("allow writing to {}, or {}", cache.folder.existing, check.remedy);
  return check;
}

Check check_file_system(const FolderFacts& folder) {
  Check check{"cache file system", State::ok, folder.file_system.name};
  if (!folder.problem.empty()) {
    check.state = State::note;
    check.found = fmt::format("cannot be found out of {}: {}", folder.existing, folder.problem);
    check.remedy = fmt::format("look at {}, or {}", folder.existing, elsewhere);
  } else if (folder.is_read_only) {
    check.state = State::problem;
    check.found += ", mounted read-only: nothing can be kept";
    check.remedy = "name a folder that can be written to with MAMBA_GEMM_CACHE";
  } else if (folder.file_system.keeping == Keeping::network) {
    check.state = State::note;
    check.found += ", over the network: locks between processes may be slow or missing there";
    check.remedy = elsewhere;
  } else if (folder.file_system.keeping == Keeping::until_reboot) {
    check.state = State::note;
    check.found += ", in memory: it is gone after a restart";
    check.remedy = fmt::format("{} to keep what is compiled", elsewhere);
  } else if (folder.file_system.keeping == Keeping::with_container) {
    check.state = State::note;
    check.found += ", a container's own layer: it is gone with the container";
    check.remedy = "mount a volume there, or name a folder on one with MAMBA_GEMM_CACHE, to keep what is compiled";
  }
  return check;
}

Check check_space(const CacheFacts& cache) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20U;
  const std::uint64_t free = cache.folder.free_bytes;
  const std::uint64_t cap = number_in(cache.totals, "cap");
  const std::uint64_t used = number_in(cache.totals, "bytes");
  Check check{"cache space", State::ok,
              fmt::format("{} used of {}, {} free on the disk", size_text(used), size_text(cap), size_text(free))};
  if (free < least) {
    check.state = State::problem;
    check.remedy = "make room on that disk, or name a folder on another with MAMBA_GEMM_CACHE";
  } else if (used < cap && free < cap - used) {
    check.state = State::note;
    check.remedy = "make room on that disk, or set MAMBA_GEMM_CACHE_MAX to less";
  }
  return check;
}

Check check_entries(const CacheFacts& cache) {
  if (cache.bad == 0) return {"cache entries", State::ok, fmt::format("{}, all sound", entries_text(cache.sound))};
  return {"cache entries", State::note,
          fmt::format("{} sound, {} not, which will be made anew", entries_text(cache.sound), cache.bad),
          "run mamba-gemm cache verify --repair"};
}

}  // namespace

std::vector<Check> check_cache(const Json& environment, const CacheFacts& cache) {
  if (shown(cache.totals, "path").empty()) return {check_no_cache(environment, shown(cache.totals, "rule"))};
  std::vector<Check> checks{check_folder(cache), check_file_system(cache.folder)};
  if (cache.folder.problem.empty() && !cache.folder.is_read_only) checks.push_back(check_space(cache));
  if (part(cache.totals, "exists") == true && part(cache.totals, "refusal").is_null())
    checks.push_back(check_entries(cache));
  return checks;
}

}  // namespace mgemm::cli
