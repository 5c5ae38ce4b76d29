#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/command_line.hpp"
#include "bench/session.hpp"
#include "bench/suites.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "whole_file.hpp"

namespace mgemm::cli {
namespace bench {
namespace {

struct Options {
  std::vector<std::string> words;
  std::string types, ops, rows;
  std::string versus, cublas, svg;
  std::string device = "cuda:0";
  std::string seed_text = "0";
  std::int32_t windows = 8;
  double peak_tflops = 0, peak_gbytes = 0;
  bool json = false;
};

DeviceChoice gpu_of(const std::string& text) {
  const DeviceChoice device = parse_device(text);
  if (device.kind != DeviceChoice::Kind::cuda) bad_input("--device {}: bench times GPUs: must be cuda or cuda:N", text);
  return device;
}

void check_versus(const Options& options) {
  if (!options.versus.empty() && options.versus != "cublas") bad_input("--vs {}: must be cublas", options.versus);
  if (options.versus.empty() && !options.cublas.empty())
    bad_input("--cublas {}: is the library for --vs cublas, which is not asked for", options.cublas);
}

/// What both sides can do alike, and what takes time.
void check_problem(const std::string& text) {
  const mgemm_problem problem = problem_of(text);
  if (problem.bias != 0) bad_input("{}: bench times products without bias", text);
  if (problem.m < 1 || problem.k < 1 || problem.n < 1) bad_input("{}: bench needs M, K and N of at least 1", text);
}

/// A file that was named and cannot be used is bad input; a search that finds none is a failure of the environment.
std::unique_ptr<CublasLt> open_cublas(const Options& options) {
  if (options.versus.empty()) return nullptr;
  try {
    return std::make_unique<CublasLt>(options.cublas);
  } catch (const Failure& failure) {
    if (options.cublas.empty()) throw;
    bad_input("--cublas {}: must be a cuBLASLt library: {}", options.cublas, failure.what());
  }
}

/// Compiles what the cells need on all processors. What fails is said where its cell is timed.
void prepare(Session& session, const std::vector<std::string>& cells, Progress& progress) {
  constexpr std::int32_t alignment = 256;
  std::vector<mgemm_problem> problems;
  problems.reserve(cells.size());
  for (const std::string& cell : cells) problems.push_back(problem_of(cell));
  const auto show = [](std::int64_t done, std::int64_t total, const char* what, void* user) -> std::int32_t {
    static_cast<Progress*>(user)->phase(fmt::format("preparing {}/{} {}", done, total, what));
    return 0;
  };
  static_cast<void>(
      mgemm_warmup(session.context().handle(), problems.data(), problems.size(), alignment, 0, show, &progress));
}

/// Whether the cells behind it can still be timed.
bool time_into(Session& session, const std::string& problem, BenchReport& report) {
  const auto lost = [&](const std::string& why) {
    Cell cell;
    cell.problem = problem;
    cell.error = why + "; the device is lost, and what was to follow was not timed";
    report.cells.push_back(std::move(cell));
    return false;
  };
  try {
    report.cells.push_back(time_cell(session, problem));
    return true;
  } catch (const mamba_gemm::Error& error) {
    return lost(fmt::format("{}: {}", error.status_name(), error.what()));
  } catch (const Failure& failure) {
    return lost(failure.what());
  }
}

BenchReport run_bench(const Options& options, const DeviceChoice& device, std::uint64_t seed,
                      const std::vector<std::string>& cells) {
  Progress progress;
  progress.phase("opening cuBLAS");
  const std::unique_ptr<CublasLt> cublas = open_cublas(options);
  progress.phase("opening the device");
  Session session(device, cublas.get(), seed, options.windows);
  BenchReport report;
  report.header = session.header();
  report.header.command_line = own_command_line();
  prepare(session, cells, progress);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    progress.phase(fmt::format("{}/{} {}", i + 1, cells.size(), cells[i]));
    if (!time_into(session, cells[i], report)) break;
  }
  return report;
}

/// 1 if any cell could not be timed, each of which is named.
int exit_code_of(const BenchReport& report) {
  int code = exit_ok;
  for (const Cell& cell : report.cells) {
    if (cell.error.empty()) continue;
    say(fmt::format("mamba-gemm: {}: {}\n", cell.problem, cell.error));
    code = exit_mismatch;
  }
  return code;
}

int bench_command(const Options& options) {
  const DeviceChoice device = gpu_of(options.device);
  check_versus(options);
  ProductOptions seeded;
  seeded.seed_text = options.seed_text;
  const std::uint64_t seed = seeded.seed();
  const std::vector<std::string> cells =
      cells_of(options.words, parse_filter(options.types, options.ops, options.rows));
  for (const std::string& cell : cells) check_problem(cell);
  const BenchReport report = run_bench(options, device, seed, cells);
  print(options.json ? dump(bench_json(report)) : bench_markdown(report));
  if (!options.svg.empty())
    write_whole_file(options.svg, {bench_svg(report, roofs_of(report, options.peak_tflops, options.peak_gbytes))});
  return exit_code_of(report);
}

std::string suites_text() {
  std::string text = "Suites:\n";
  for (const Suite& suite : suites()) text += fmt::format("  {:<8} {}\n", suite.name, suite.what);
  return text;
}

void add_options(CLI::App& command, Options& options) {
  constexpr std::int32_t most_windows = 10000;
  command.add_option("suite_or_problem", options.words,
                     "Suites and problem strings, for example nn:bf16:2048x2560x10240");
  command.add_option("--vs", options.versus, "cublas: time it beside, on the same work, and compare the outputs");
  command.add_option("--cublas", options.cublas, "The libcublasLt to use instead of searching for one");
  command.add_option("--device", options.device, "cuda or cuda:N. Default cuda:0");
  command.add_option("--type", options.types, "Of the suites only these types, with commas: bf16, f16, tf32");
  command.add_option("--op", options.ops, "Of the suites only these ops, with commas: nn, nt, tn");
  command.add_option("--rows", options.rows, "Of the suites only these M, with commas");
  command.add_option("--windows", options.windows, "Timed windows of each side. Default 8")
      ->check(CLI::Range(1, most_windows));
  command.add_option("--seed", options.seed_text, "Of the data. Default 0");
  command.add_option("--svg", options.svg, "Write a roofline plot to this file");
  command.add_option("--peak-tflops", options.peak_tflops, "Its roof; by default what is known of the board")
      ->check(CLI::PositiveNumber);
  command.add_option("--peak-gbs", options.peak_gbytes, "Its slope, in GB/s; by default what is known of the board")
      ->check(CLI::PositiveNumber);
  command.add_flag("--json", options.json, "Print one JSON object");
}

}  // namespace
}  // namespace bench

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("bench", "Time products on a GPU, beside cuBLAS if asked");
  const auto options = std::make_shared<bench::Options>();
  bench::add_options(*command, *options);
  command->footer(bench::suites_text() +
                  "Times are medians of CUDA-graph replays over at least 128 MiB of random operands; both sides take\n"
                  "turns. cuBLAS is the first of its heuristics, with 32 MiB to work in. The exit code is 1 if a cell\n"
                  "could not be timed, among others because the outputs differ.");
  command->callback([options, &exit_code] { exit_code = bench::bench_command(*options); });
}

}  // namespace mgemm::cli
