// How long the kernels of the catalogue take to qualify on this board: by their probes, and by the verdicts of an
// earlier start. Their machine code is made before and not timed.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "compile/artifact.hpp"
#include "device/cuda_device.hpp"
#include "module/loader.hpp"

namespace {

using namespace mgemm;
namespace fs = std::filesystem;

struct Module {
  std::string_view name;
  double milliseconds = 0;
};

/// A kernel of each module.
std::vector<const KernelRow*> first_rows() {
  std::map<std::string_view, const KernelRow*> rows;
  for (const KernelRow& row : catalogue()) rows.try_emplace(row.module.view(), &row);
  std::vector<const KernelRow*> result;
  result.reserve(rows.size());
  for (const auto& [name, row] : rows) result.push_back(row);
  return result;
}

void make_machine_code(const std::vector<const KernelRow*>& rows, const std::string& helper, const std::string& cache) {
  const DeviceFacts facts = read_facts(driver(), 0);
  run_parallel(static_cast<std::int64_t>(rows.size()), 0, [&](std::int64_t index, int) {
    const std::string_view module = rows.at(static_cast<std::size_t>(index))->module.view();
    const ModuleRequest request{module, facts.compute_major, facts.compute_minor, facts.driver_version, cache};
    assemble_machine_code_of(request, helper);
    ptx_of(request);  // as a start makes it, beside
  });
}

/// Loads all modules in a CUDA context of its own and prints how long they took to qualify.
void qualify_all(const char* name, const std::vector<const KernelRow*>& rows, const std::string& cache,
                 bool by_verdict) {
  CudaDevice device(driver(), 0, nullptr);
  std::vector<Module> modules;
  for (const KernelRow* row : rows) {
    const LoadedKernel kernel = load_kernel(device, *row, cache);
    if (kernel.state != KernelState::usable) {
      fmt::print("{} does not serve ({}): {}\n", row->symbol.view(), to_string(kernel.state), kernel.reason);
    } else if (kernel.qualification.by_verdict != by_verdict) {
      throw std::runtime_error(fmt::format("{} was qualified in the other way", row->module.view()));
    } else {
      modules.push_back({row->module.view(), kernel.qualification.milliseconds});
    }
  }
  if (modules.empty()) throw std::runtime_error("no module serves");
  std::ranges::sort(modules, {}, &Module::milliseconds);
  double sum = 0;
  for (const Module& module : modules) sum += module.milliseconds;
  const Module& last = modules.back();
  fmt::print("{}: {} modules, ms a module: min {:.2f}, median {:.2f}, max {:.2f} ({}); {:.0f} ms in all\n", name,
             modules.size(), modules.front().milliseconds, modules[modules.size() / 2].milliseconds, last.milliseconds,
             last.name, sum);
}

void measure(const std::string& helper, const std::string& cache) {
  setenv("MAMBA_GEMM_HELPER", helper.c_str(), 1);
  const std::vector<const KernelRow*> rows = first_rows();
  make_machine_code(rows, helper, cache);
  qualify_all("qualified by probes", rows, cache, false);
  qualify_all("qualified by verdicts", rows, cache, true);
}

/// In a cache of its own, which is gone afterwards.
void measure_apart(const std::string& helper) {
  std::string pattern = (fs::temp_directory_path() / "mgemm-qualify-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  const fs::path folder = fs::canonical(pattern);
  measure(helper, (folder / "cache").string());
  fs::remove_all(folder);
}

}  // namespace

// What is thrown is caught below; only reporting it could throw again.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  try {
    CLI::App app("Time that the kernels of the catalogue take to qualify on this GPU.", "qualify_bench");
    std::string helper;
    app.add_option("--helper", helper, "mamba-gemm-assemble, by its absolute path")->required();
    std::string cache;
    app.add_option("--cache", cache, "keep what was made in this cache, where nothing has been qualified yet");
    CLI11_PARSE(app, argc, argv);
    if (cache.empty()) {
      measure_apart(helper);
    } else {
      measure(helper, cache);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "qualify_bench: {}\n", error.what());
    return 1;
  }
}
