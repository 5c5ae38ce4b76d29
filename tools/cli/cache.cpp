#include <cstdio>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "options.hpp"

namespace mgemm::cli {
namespace {

int print_path() {
  const std::string path = mamba_gemm::cache_path();
  if (path.empty()) {
    fmt::print(stderr,
               "mamba-gemm: there is no cache folder: MAMBA_GEMM_CACHE is off or not an absolute path, or neither it "
               "nor XDG_CACHE_HOME nor HOME names one\n");
    return exit_mismatch;
  }
  print(path + '\n');
  return exit_ok;
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("cache", "The folder of compiled code");
  command->require_subcommand(1);
  command->add_subcommand("path", "Print where it is")->callback([&exit_code] { exit_code = print_path(); });
}

}  // namespace mgemm::cli
