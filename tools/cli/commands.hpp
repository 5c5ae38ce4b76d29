#pragma once

#include <CLI/CLI.hpp>

namespace mgemm::cli {

/// Each adds its subcommand, which sets `exit_code` when it runs.
void add_info(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_modules(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);

}  // namespace mgemm::cli
