#include <cstdint>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace mgemm::cli {
namespace {

struct ModulesOptions {
  std::string targets = "all";
  bool compile = false;
  bool json = false;
  std::int32_t threads = 0;
};

const char* state_name(std::int32_t state) {
  switch (state) {
    case MGEMM_KERNEL_LISTED:
      return "listed";
    case MGEMM_KERNEL_READY:
      return "ready";
    case MGEMM_KERNEL_EXCLUDED:
      return "excluded";
    default:
      return "failed";
  }
}

Json kernel_json(const mgemm_kernel_info& kernel) {
  Json json{{"kernel", kernel.kernel},
            {"module", kernel.module},
            {"target", kernel.target},
            {"state", state_name(kernel.state)},
            {"reason", kernel.reason},
            {"threads", kernel.threads},
            {"shared_bytes", kernel.shared_bytes}};
  if (kernel.registers == 0) return json;
  json.update({{"registers", kernel.registers},
               {"local_bytes", kernel.local_bytes},
               {"static_shared_bytes", kernel.static_shared_bytes},
               {"seconds", kernel.seconds}});
  return json;
}

std::string kernel_line(const mgemm_kernel_info& kernel) {
  const auto if_known = [&](std::int32_t number) {
    return kernel.registers == 0 ? std::string("-") : fmt::format("{}", number);
  };
  return fmt::format("{:<8} {:<36} {:>7} {:>9} {:>6} {:>7}  {} {}\n", kernel.target, kernel.kernel, kernel.threads,
                     if_known(kernel.registers), if_known(kernel.local_bytes),
                     kernel.shared_bytes + kernel.static_shared_bytes, state_name(kernel.state), kernel.reason);
}

template <typename Visit>
void visit_kernels(const ModulesOptions& options, Visit&& visit) {
  try {
    mamba_gemm::for_each_kernel(options.targets, options.compile, visit, nullptr, options.threads);
  } catch (const mamba_gemm::Error& error) {
    if (error.status() == MGEMM_INVALID_ARGUMENT) bad_input("{}", error.what());
    throw;
  }
}

int list_modules(const ModulesOptions& options) {
  Json entries = Json::array();
  std::string text = fmt::format("{:<8} {:<36} {:>7} {:>9} {:>6} {:>7}  {}\n", "target", "kernel", "threads",
                                 "registers", "spills", "shared", "state");
  std::int64_t count = 0;
  std::int64_t bad = 0;
  {
    Progress progress;
    progress.phase("looking at kernels");
    visit_kernels(options, [&](const mgemm_kernel_info& kernel) {
      progress.phase(fmt::format("{} for {}", kernel.module, kernel.target));
      ++count;
      if (kernel.state == MGEMM_KERNEL_EXCLUDED || kernel.state == MGEMM_KERNEL_FAILED) ++bad;
      if (options.json) {
        entries.push_back(kernel_json(kernel));
      } else {
        text += kernel_line(kernel);
      }
    });
  }
  if (options.json) {
    print(dump({{"entries", entries}, {"count", count}, {"bad", bad}}));
  } else {
    print(text + fmt::format("{} kernels, {} not to be used\n", count, bad));
  }
  return bad == 0 ? exit_ok : exit_mismatch;
}

}  // namespace

void add_modules(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("modules", "Every kernel, and what it needs on each target");
  const auto options = std::make_shared<ModulesOptions>();
  command->add_option("--arch", options->targets, "all, or targets with commas: sm_90a, compute_90a or 90a")
      ->capture_default_str();
  command->add_flag("--compile", options->compile, "Make the machine code of each; needs no device");
  command->add_option("--threads", options->threads, "Compile so many at a time (0: all processors)");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &exit_code] { exit_code = list_modules(*options); });
}

}  // namespace mgemm::cli
