#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "check.hpp"
#include "commands.hpp"
#include "compute.hpp"
#include "device.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace mgemm::cli {
namespace {

struct RunOptions {
  std::string problem;
  FileOptions files;
  ProductOptions product;
  std::int32_t repeat = 0;
};

HostOperands operands_of(const RunOptions& options, std::uint64_t seed) {
  if (options.problem.empty() && !options.files.any()) bad_input("run needs a problem string, or --x, --w and --out");
  if (options.problem.empty()) return read_operands(options.files);
  if (options.files.any()) bad_input("a problem string and files exclude each other");
  return random_operands(problem_of(options.problem), seed);
}

/// How often this process launched each kernel that it did: the same number on every target that holds it.
Json launches() {
  Json counts = Json::object();
  mamba_gemm::for_each_kernel("all", false, [&](const mgemm_kernel_info& kernel) {
    if (kernel.launches != 0) counts[kernel.kernel] = kernel.launches;
  });
  return counts;
}

RunReport run(const RunOptions& options) {
  const DeviceChoice device = parse_device(options.product.device);
  const std::uint64_t seed = options.product.seed();
  Progress progress;
  progress.phase("reading data");
  const HostOperands operands = operands_of(options, seed);
  progress.phase("opening the device");
  mamba_gemm::Context context = open_context(device, options.product.threads);
  Computed computed = compute(context, operands, options.repeat, progress);

  progress.phase("checking");
  RunReport report;
  report.check = check_output(operands, computed.out,
                              {.samples = options.product.samples,
                               .seed = seed,
                               .threads = options.product.threads,
                               .by_reference = computed.device.kind == MGEMM_DEVICE_REFERENCE,
                               .profile = computed.description.profile});
  report.device = computed.device;
  report.description = computed.description;
  report.cache = Json::parse(mamba_gemm::cache_totals_json("off"))["counters"];
  report.launches = launches();
  report.seconds = std::move(computed.seconds);
  report.multiply_adds = multiply_adds(operands.problem);
  if (!options.problem.empty()) {
    report.seed = seed;
  } else if (report.check.passed()) {  // an output that cannot be trusted is not written
    progress.phase("writing");
    write_output(options.files, operands, computed.out);
    report.written = options.files.out;
  }
  return report;
}

void add_file_options(CLI::App& command, FileOptions& files) {
  const auto add = [&](const char* name, std::string& target, const char* help) {
    command.add_option(name, target, help)->group("Files");
  };
  add("--x", files.x, "a, a .npy file of f32: X for nn and tn, dY for nt");
  add("--w", files.w, "b: W for nn and nt, dY for tn");
  add("--bias", files.bias, "Bias row (nn only)");
  add("--out", files.out, "Output file, written only if its bits are the contract's");
  add("--op", files.op, "nn (Y = X W, the default), tn (dW = X^T dY) or nt (dX = dY W^T)");
  add("--alpha", files.alpha, "Factor of the product. Default 1");
  add("--beta", files.beta, "Factor of the old output. Default 1 with --old, else 0");
  add("--old", files.old, "Old output");
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("run", "Run a product, of random data or of .npy files, time it and check its bits");
  const auto options = std::make_shared<RunOptions>();
  command->add_option("problem", options->problem,
                      "Problem string, for example nn:f32:256x768x512:bias, run on random data");
  add_product_options(*command, options->product);
  command
      ->add_option("--repeat", options->repeat,
                   "Timed runs. Default 10 on a GPU, behind an untimed one, and 1 on the reference device")
      ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()));
  add_file_options(*command, options->files);
  command->footer(
      "All elements are checked up to 2^33 multiply-adds, else a sample of at least 1024. Operands are drawn from a\n"
      "counter-based splitmix64 as sums of eight 16-bit fields, nearly normal, the same for a seed everywhere.");
  command->callback([options, &exit_code] {
    const RunReport report = run(*options);
    print(options->product.json ? dump(run_json(report)) : run_text(report));
    if (!report.check.passed() && !options->files.out.empty())
      say(fmt::format("mamba-gemm: {} was not written\n", options->files.out));
    exit_code = report.check.passed() ? exit_ok : exit_mismatch;
  });
}

}  // namespace mgemm::cli
