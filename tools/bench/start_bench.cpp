// How long a process takes from making a context to its first result: with an empty cache, with PTX in it, with machine
// code in it; beside what the driver alone takes for its context. Every number is the median over fresh processes.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/cuda_abi.hpp"
#include "compile/artifact.hpp"
#include "device/cuda_device.hpp"
#include "mamba_gemm/mamba_gemm.hpp"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// cuInit and the primary context of device 0, by the driver's own functions.
double driver_alone() {
  const auto start = Clock::now();
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) throw std::runtime_error("no driver");
  const auto function = [&](const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) throw std::runtime_error(name);
    return found;
  };
  namespace cuda = mgemm::cuda;
  cuda::Context context = nullptr;
  auto* const init = reinterpret_cast<cuda::fn::Init*>(function("cuInit"));
  auto* const retain = reinterpret_cast<cuda::fn::DevicePrimaryCtxRetain*>(function("cuDevicePrimaryCtxRetain"));
  if (init(0) != cuda::Result::Success || retain(&context, 0) != cuda::Result::Success) {
    throw std::runtime_error("the driver fails");
  }
  return milliseconds_since(start);
}

/// A context, operands, one product, and its result on the host.
double first_result(const std::string& cache) {
  constexpr std::int64_t m = 64;
  constexpr std::int64_t k = 512;
  constexpr std::int64_t n = 512;
  std::mt19937_64 random{std::random_device{}()};
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(k * n));
  for (float& value : values) value = normal(random);

  const auto start = Clock::now();
  mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
  options.cache_dir = cache.c_str();
  const mamba_gemm::Context context(options);
  const auto put = [&](std::int64_t count) {
    std::uint64_t address = 0;
    mamba_gemm::check(mgemm_alloc(context.handle(), count * 4, &address));
    mamba_gemm::check(mgemm_upload(context.handle(), address, values.data(), count * 4));
    return address;
  };
  mgemm_operands operands{};
  operands.struct_size = sizeof operands;
  operands.a = put(m * k);
  operands.b = put(k * n);
  operands.out = put(m * n);
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:64x512x512");
  mamba_gemm::check(mgemm_gemm(context.handle(), &problem, &operands));
  mamba_gemm::check(mgemm_download(context.handle(), values.data(), operands.out, m * n * 4));
  return milliseconds_since(start);
}

/// Finding a module's machine code: which NVRTC, the key, the entry and its digests. `times` of it; the last counts.
double look_up(const std::string& cache, int times) {
  const mgemm::DeviceFacts facts = mgemm::read_facts(mgemm::driver(), 0);
  const mgemm::ModuleRequest request{"f32_nn_single_a16_thin16", facts.compute_major, facts.compute_minor,
                                     facts.driver_version, cache};
  double last = 0;
  for (int time = 0; time < times; ++time) {
    const auto start = Clock::now();
    if (!mgemm::cached_machine_code_of(request)) throw std::runtime_error("no machine code in " + cache);
    last = milliseconds_since(start);
  }
  return last;
}

/// Runs `measure` in a process of its own; a fork of one that has not used the driver is as good as fresh.
double in_process(const std::function<double()>& measure) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    double result = -1;
    try {
      result = measure();
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);
  double result = -1;
  const bool complete = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !complete || result < 0) throw std::runtime_error("a child failed");
  return result;
}

struct Spread {
  double median = 0, fastest = 0, slowest = 0;
};

Spread measured(
    int runs, const std::function<double()>& measure, const std::function<void()>& before = [] {}) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    before();
    times.push_back(in_process(measure));
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front(), times.back()};
}

void print_row(const std::string& name, const Spread& spread, double driver) {
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} to {:.1f} |\n", name, spread.median, spread.median - driver,
             spread.fastest, spread.slowest);
}

void measure_all(int runs, int cold_runs, const std::string& helper) {
  std::string pattern = (fs::temp_directory_path() / "mgemm-start-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  const fs::path folder = fs::canonical(pattern);
  const std::string cache = (folder / "cache").string();
  const auto first = [&] { return first_result(cache); };
  const auto empty = [&] { fs::remove_all(cache); };
  setenv("CUDA_CACHE_PATH", (folder / "driver").c_str(), 1);  // the driver's own cache of what it made of PTX

  const double driver = measured(runs, driver_alone).median;
  fmt::print("| start | ms to the first result | beyond the driver's context | range |\n|---|---|---|---|\n");
  fmt::print("| the driver's context alone | {:.1f} | | |\n", driver);

  setenv("MAMBA_GEMM_HELPER", helper.c_str(), 1);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  print_row("cold, PTX and machine code made", measured(cold_runs, first, empty), driver);
  print_row("machine code in the cache", measured(runs, first), driver);
  const Spread first_found = measured(runs, [&] { return look_up(cache, 1); });
  const Spread found = measured(runs, [&] { return look_up(cache, 3); });

  setenv("MAMBA_GEMM_HELPER", "off", 1);
  print_row("cold, PTX alone", measured(cold_runs, first, empty), driver);
  print_row("PTX in the cache", measured(runs, first), driver);
  unsetenv("CUDA_CACHE_DISABLE");
  in_process(first);
  print_row("PTX in the cache, its code in the driver's own", measured(runs, first), driver);
  fmt::print("\nlook-up of a module's machine code: {:.2f} ms ({:.2f} to {:.2f}); the first of a process {:.2f} ms\n",
             found.median, found.fastest, found.slowest, first_found.median);
  fs::remove_all(folder);
}

}  // namespace

// What is thrown is caught below; only reporting it could throw again.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  try {
    CLI::App app("Time from making a context to the first result, in new processes.", "start_bench");
    int runs = 15;
    int cold_runs = 5;
    std::string helper;
    app.add_option("--runs", runs, "Processes a warm row")->check(CLI::PositiveNumber);
    app.add_option("--cold-runs", cold_runs, "Processes a cold row")->check(CLI::PositiveNumber);
    app.add_option("--helper", helper, "mamba-gemm-assemble, by its absolute path")->required();
    CLI11_PARSE(app, argc, argv);
    measure_all(runs, cold_runs, helper);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "start_bench: {}\n", error.what());
    return 1;
  }
}
