#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "commands.hpp"
#include "doctor_checks.hpp"
#include "doctor_work.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace mgemm::cli {
namespace {

using Checks = std::vector<Check>;

/// One part of the examination: its failure is a finding, and the rest goes on.
void examine(Checks& checks, const char* what, const std::function<Checks()>& part_of_it) {
  try {
    Checks found = part_of_it();
    checks.insert(checks.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  } catch (const mamba_gemm::Error& error) {
    checks.push_back({what, State::problem, fmt::format("{}: {}", error.status_name(), error.what()),
                      "run mamba-gemm doctor again with MAMBA_GEMM_LOG=info, which says what led to it"});
  }
}

std::vector<std::string> own_variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

bool kernel_driver_is_loaded() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored);
}

CacheFacts look_at_cache() {
  CacheFacts cache;
  cache.totals = Json::parse(mamba_gemm::cache_totals_json());
  const std::string path = mamba_gemm::cache_path();  // not from the JSON, which replaces what is not UTF-8
  if (path.empty()) return cache;
  cache.folder = look_at_folder(path);
  if (part(cache.totals, "refusal").is_string()) return cache;
  const mgemm_cache_report report = mamba_gemm::cache_verify(false);
  cache.sound = report.sound;
  cache.bad = report.bad;
  return cache;
}

/// What the chain of NVRTC and helper program makes, where there is one.
Checks try_compiling(const Json& environment) {
  const Json helper = part(part(environment, "helper"), "path");
  if (part(part(environment, "nvrtc"), "available") != true || !helper.is_string()) return {};
  const std::vector<Json> devices = usable_devices(environment);
  const std::string target = devices.empty() ? "" : shown(devices.front(), "target");
  return {check_compiled(compile_one_kernel(target), helper.get<std::string>())};
}

Checks try_products(const Json& environment, Progress& progress) {
  Checks checks;
  const auto run_on = [&](const std::string& device) {
    progress.phase("a product on " + device);
    for (Check& check : check_products(device)) checks.push_back(std::move(check));
  };
  run_on("reference");
  // Without a compiler it could only fail, which has been said.
  if (part(part(environment, "nvrtc"), "available") != true) return checks;
  for (const Json& device : usable_devices(environment)) run_on("cuda:" + shown(device, "ordinal"));
  return checks;
}

Checks examine_all() {
  Progress progress;
  progress.phase("looking around");
  Checks checks;
  Json environment;
  examine(checks, "library", [&]() -> Checks {
    environment = Json::parse(mamba_gemm::environment_json());
    return {{"library", State::ok, shown(environment, "build")}};
  });
  if (!environment.is_null()) {
    examine(checks, "variables", [&] { return check_variables(environment, own_variables()); });
    checks.push_back(check_driver(environment, kernel_driver_is_loaded()));
    examine(checks, "devices", [&] { return check_devices(environment); });
    checks.push_back(check_nvrtc(environment));
    checks.push_back(check_helper(environment));
    progress.phase("compiling a kernel");
    examine(checks, "compile", [&] { return try_compiling(environment); });
  }
  progress.phase("looking at the cache");
  examine(checks, "cache", [&] { return check_cache(environment, look_at_cache()); });
  examine(checks, "product", [&] { return try_products(environment, progress); });
  return checks;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("doctor", "Check everything the library depends on, and say what to do");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print one JSON object");
  command->footer(
      "A note costs something or is worth knowing, a problem keeps something from working as asked. The exit code is "
      "0\n"
      "without a problem, else 1. No driver and no compiler are only notes where there is no GPU. What a small "
      "product\n"
      "compiles is kept in the cache, as always.");
  command->callback([as_json, &exit_code] {
    const Checks checks = examine_all();
    print(*as_json ? dump(doctor_json(checks)) : doctor_text(checks));
    exit_code = has_problem(checks) ? exit_mismatch : exit_ok;
  });
}

}  // namespace mgemm::cli
