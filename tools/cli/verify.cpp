#include <cstdint>
#include <memory>
#include <string>

#include "commands.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "operands.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace mgemm::cli {
namespace {

struct VerifyOptions {
  std::string problem;
  ProductOptions product;
};

VerifyReport verify(const VerifyOptions& options) {
  const DeviceChoice device = parse_device(options.product.device);
  const std::uint64_t seed = options.product.seed();
  const mgemm_problem problem = problem_of(options.problem);
  Progress progress;
  progress.phase("drawing data");
  const HostOperands operands = random_operands(problem, seed);
  progress.phase("preparing");
  const mamba_gemm::Context context = open_context(device, options.product.threads);
  const BoundProduct product = bind(context, operands);
  progress.phase("verifying");
  VerifyReport report;
  report.device = context.device_info();
  report.description = product.launch.describe();
  report.seed = seed;
  report.out_type = problem.out_type;
  report.result = product.launch.verify(options.product.samples, seed);
  return report;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("verify", "Run a product on random data in scratch memory and compare samples of it");
  const auto options = std::make_shared<VerifyOptions>();
  command->add_option("problem", options->problem, "Problem string, for example nn:f32:256x768x512:bias")->required();
  add_product_options(*command, options->product);
  command->callback([options, &exit_code] {
    const VerifyReport report = verify(*options);
    print(options->product.json ? dump(verify_json(report)) : verify_text(report));
    exit_code = report.result.mismatches == 0 ? exit_ok : exit_mismatch;
  });
}

}  // namespace mgemm::cli
