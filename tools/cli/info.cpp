#include <memory>

#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "options.hpp"
#include "report.hpp"

namespace mgemm::cli {

void add_info(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("info", "Show library, driver, devices, compiler and cache");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print one JSON object");
  command->callback([as_json, &exit_code] {
    const Json environment = Json::parse(mamba_gemm::environment_json());
    print(*as_json ? dump(environment) : environment_text(environment));
    exit_code = exit_ok;
  });
}

}  // namespace mgemm::cli
