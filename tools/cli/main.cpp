#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli {
namespace {

int complain(std::string_view text, int exit_code) {
  say(fmt::format("mamba-gemm: {}\n", text));
  return exit_code;
}

int complain(const mamba_gemm::Error& error) {
  complain(fmt::format("{}: {}", error.status_name(), error.what()), exit_library);
  if (error.status() == MGEMM_NO_COMPILER || error.status() == MGEMM_NO_DEVICE)
    complain("--device reference computes the same bits on the CPU, without a driver or compiler", exit_library);
  return exit_library;
}

int run_tool(int argc, char** argv) {
  CLI::App app("Deterministic matrix products: run them, check their bits, and see what this machine offers.",
               "mamba-gemm");
  int exit_code = exit_ok;
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("mamba-gemm {}", mgemm_version_string()));
  app.footer(
      "Exit codes: 0 done, 1 bits differ, something is wrong or not there, 2 usage or bad input, 3 library error.");
  add_info(app, exit_code);
  add_run(app, exit_code);
  add_verify(app, exit_code);
  add_bench(app, exit_code);
  add_cache(app, exit_code);
  add_modules(app, exit_code);
  add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::RequiredError& error) {
    // "A subcommand is required", and which word is none.
    const std::vector<std::string> words = app.remaining(true);
    const std::string word = words.empty() ? "" : fmt::format("; '{}' is none", words.front());
    return complain(fmt::format("{}{} (see mamba-gemm --help)", error.what(), word), exit_bad_input);
  } catch (const CLI::ParseError& error) {
    return complain(fmt::format("{} (see mamba-gemm --help)", error.what()), exit_bad_input);
  }
  return exit_code;
}

}  // namespace
}  // namespace mgemm::cli

// What is thrown is caught below; only reporting it could throw again.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  using namespace mgemm::cli;
  if (!mamba_gemm::version_matches())
    return complain(fmt::format("the library is of release {}, this tool is not", mgemm_version_string()),
                    exit_library);
  try {
    return run_tool(argc, argv);
  } catch (const mamba_gemm::Error& error) {
    return complain(error);
  } catch (const BadInput& error) {
    return complain(error.what(), exit_bad_input);
  } catch (const std::bad_alloc&) {
    return complain("out of host memory", exit_library);
  } catch (const std::exception& error) {
    return complain(error.what(), exit_library);
  }
}
