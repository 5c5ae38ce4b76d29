#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "modules_report.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "targets.hpp"

namespace mgemm::cli {
namespace {

struct ModulesOptions {
  std::string targets = "all";
  bool compile = false;
  bool json = false;
  std::int32_t threads = 0;
};

Json look_at_kernels(const ModulesOptions& options) {
  Json entries = Json::array();
  Progress progress;
  progress.phase("looking at kernels");
  const auto visit = [&](const mgemm_kernel_info& kernel) {
    progress.phase(fmt::format("{} for {}", kernel.module, kernel.target));
    entries.push_back(kernel_json(kernel));
  };
  try {
    mamba_gemm::for_each_kernel(chosen_targets(options.targets), options.compile, visit, nullptr, options.threads);
  } catch (const mamba_gemm::Error& error) {
    if (error.status() == MGEMM_INVALID_ARGUMENT) bad_input("{}", error.what());
    throw;
  }
  return modules_json(std::move(entries));
}

std::string remedy_for(const Json& report) {
  if (!has_failed(report)) return "";
  Json environment;
  try {
    environment = Json::parse(mamba_gemm::environment_json());
  } catch (const mamba_gemm::Error&) {  // of the driver, which was not asked for
  }
  return compile_remedy(environment);
}

int list_modules(const ModulesOptions& options) {
  const Json report = look_at_kernels(options);
  print(options.json ? dump(report) : modules_text(report, remedy_for(report)));
  return report["bad"] == 0 ? exit_ok : exit_mismatch;
}

}  // namespace

void add_modules(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("modules", "Every kernel, and what it needs on each target");
  const auto options = std::make_shared<ModulesOptions>();
  command
      ->add_option("--arch", options->targets,
                   "Targets with commas, each as sm_90a, compute_90a or 90a; all is every one")
      ->capture_default_str();
  command->add_flag("--compile", options->compile, "Make the machine code of each; needs no device");
  command->add_option("--threads", options->threads, "Compile so many at a time (0: all processors)");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &exit_code] { exit_code = list_modules(*options); });
}

}  // namespace mgemm::cli
