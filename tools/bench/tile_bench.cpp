// How long single kernels take, in the catalogue or not, to choose tiles by: the median of CUDA-graph replays over
// operand sets that together exceed the L2 cache, on random data. A kernel that does not give its contract's bits is
// not timed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/checked.hpp"
#include "compile/compiler.hpp"
#include "compile/module_text.hpp"
#include "compile/nvrtc_load.hpp"
#include "device/current_context.hpp"
#include "device/private_stream.hpp"
#include "kernel/describe.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "memory/scratch.hpp"
#include "module/qualify.hpp"
#include "module/resources.hpp"
#include "module/tensor_probe.hpp"
#include "numeric/element.hpp"

namespace {

using namespace mgemm;

/// The driver's graph functions, which the library itself does not call.
struct Graphs {
  int (*begin)(cuda::Stream, int) = nullptr;
  int (*end)(cuda::Stream, void**) = nullptr;
  int (*instantiate)(void**, void*, unsigned long long) = nullptr;
  int (*launch)(void*, cuda::Stream) = nullptr;
  int (*destroy_exec)(void*) = nullptr;
  int (*destroy)(void*) = nullptr;

  Graphs() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error("no driver");
    const auto find = [&]<typename Function>(Function& function, const char* name) {
      function = reinterpret_cast<Function>(dlsym(library, name));
      if (function == nullptr) throw std::runtime_error(fmt::format("the driver has no {}", name));
    };
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(launch, "cuGraphLaunch");
    find(destroy_exec, "cuGraphExecDestroy");
    find(destroy, "cuGraphDestroy");
  }
};

void require(int result, const char* call) { check(static_cast<cuda::Result>(result), call); }

/// "mma:16x64x64:4:1x4+4[:16]": copies by cp.async or, as "tma", by the copy engine; tile and steps of a stage, stages,
/// warps that compute and that copy, alignment. Where there are slices, four are computed side by side, or as many as
/// "/2" says at the end. "wgmma:128x256x64:4:2x2": tile and steps, stages, groups of warps, blocks of a cluster; as
/// "pingpong" the groups take turns.
KernelRow parse_tile(const std::string& text, const Problem& problem) {
  KernelRow row;
  std::array<char, 9> name{};
  row.alignment = 16;
  const int found =
      std::sscanf(text.c_str(), "%8[a-z]:%dx%dx%d:%d:%dx%d+%d:%d", name.data(), &row.tile_rows, &row.tile_columns,
                  &row.tile_steps, &row.stages, &row.row_parts, &row.column_parts, &row.copy_warps, &row.alignment);
  const std::string_view family(name.data());
  const bool hopper = family == "wgmma" || family == "pingpong";
  if (hopper ? found != 7 : found < 8 || (family != "mma" && family != "tma")) {
    throw std::runtime_error("'" + text + "' is no tile: mma:16x64x64:4:1x4+4[:16], tma:16x64x64:4:1x4+2 or " +
                             "wgmma:128x256x64:4:2x2");
  }
  row.family = hopper ? Family::wgmma_tile : Family::mma_tile;
  row.tensor_maps = family != "mma";
  row.op = problem.op;
  row.in_type = problem.in_type;
  row.out_type = problem.out_type;
  row.min_blocks = 1;
  row.slices = contract_of(problem, sm90_set).slices.count == 1 ? SliceMode::single : SliceMode::f32;
  if (hopper) {
    row.cluster = std::exchange(row.column_parts, 1);
    row.ping_pong = family == "pingpong" && row.slices == SliceMode::single;
  } else if (row.slices != SliceMode::single) {
    const std::size_t slash = text.find('/');
    row.slice_groups = slash == std::string::npos ? 4 : std::stoi(text.substr(slash + 1));
  }
  constexpr std::string_view symbol = "mgemm_bench";
  std::ranges::copy(symbol, row.symbol.text.begin());
  return row;
}

/// A kernel of a row in the current CUDA context, for a scope.
class Loaded {
 public:
  Loaded(const CudaDevice& device, const KernelRow& row) : driver_(device.driver()) {
    const DeviceFacts& facts = device.facts();
    const Compiled compiled =
        compile(nvrtc(facts.driver_version), {"bench", kernels_text(std::span(&row, 1)), embedded_files(),
                                              target_for(facts.compute_major, facts.compute_minor)});
    check(driver_.cuModuleLoadDataEx(&module_, compiled.ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
    check(driver_.cuModuleGetFunction(&function_, module_, row.symbol.c_str()), "cuModuleGetFunction");
    check(driver_.cuFuncSetAttribute(function_, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, row.shared_bytes()),
          "cuFuncSetAttribute");
  }
  ~Loaded() { static_cast<void>(driver_.cuModuleUnload(module_)); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  Loaded(Loaded&&) = delete;
  Loaded& operator=(Loaded&&) = delete;
  cuda::Function function() const { return function_; }

 private:
  const DriverTable& driver_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
};

constexpr std::int64_t rotate_bytes = std::int64_t{160} << 20U;  // an H200's L2 holds 60 MB

/// Operand sets of one problem on the device.
class Sets {
 public:
  Sets(CudaDevice& device, const Problem& problem, Stream stream)
      : a_(rounded(span_bytes(layout_a(problem)))),
        b_(rounded(span_bytes(layout_b(problem)))),
        bias_(rounded(span_bytes(layout_bias(problem)))),
        each_(a_ + b_ + bias_ + rounded(span_bytes(layout_out(problem)))),
        count_(std::clamp<std::int64_t>(ceil_div(rotate_bytes, a_ + b_), 2, 64)),
        memory_(device, each_ * count_) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<std::byte> values(std::size_t{1} << 20U);
    with_elements(problem.in_type, [&](auto elements) {
      const auto count = static_cast<std::int64_t>(values.size()) / size_of(problem.in_type);
      for (std::int64_t i = 0; i < count; ++i) elements.store(values.data(), i, normal(random));
    });
    const std::int64_t all = each_ * count_;
    const auto chunk = static_cast<std::int64_t>(values.size());
    for (std::int64_t at = 0; at < all; at += chunk) {
      device.upload(memory_.address() + static_cast<std::uint64_t>(at), values.data(), std::min(chunk, all - at),
                    stream);
    }
    device.synchronize(stream);
  }
  std::int64_t count() const { return count_; }
  mgemm_operands operands(const Problem& problem, std::int64_t index) const {
    const std::uint64_t first = memory_.address() + static_cast<std::uint64_t>(index * each_);
    return mamba_gemm::operands(first, first + static_cast<std::uint64_t>(a_),
                                first + static_cast<std::uint64_t>(a_ + b_ + bias_),
                                problem.bias ? first + static_cast<std::uint64_t>(a_ + b_) : 0);
  }

 private:
  static std::int64_t rounded(std::int64_t bytes) { return ceil_div<std::int64_t>(bytes, 256) * 256; }
  std::int64_t a_, b_, bias_, each_, count_;
  Scratch memory_;
};

/// Microseconds of one launch.
double time_kernel(CudaDevice& device, const Graphs& graphs, const PrivateStream& stream, const Sets& sets,
                   const Problem& problem, const KernelRow& row, cuda::Function function) {
  const DriverTable& driver = device.driver();
  auto* const handle = reinterpret_cast<cuda::Stream>(stream.handle());
  const Contract contract = contract_of(problem, sm90_set);
  KernelLaunch launch = describe_grid(row, problem, contract, device.facts().multiprocessors);
  launch.function = function;
  constexpr int thread_local_mode = 1;
  require(graphs.begin(handle, thread_local_mode), "cuStreamBeginCapture");
  for (std::int64_t i = 0; i < sets.count(); ++i) {
    set_arguments(launch, binding_of(row, device), problem, contract, sets.operands(problem, i));
    device.enqueue(launch, stream.handle());
  }
  void* graph = nullptr;
  void* executable = nullptr;
  require(graphs.end(handle, &graph), "cuStreamEndCapture");
  require(graphs.instantiate(&executable, graph, 0), "cuGraphInstantiate");
  cuda::Event start = nullptr;
  cuda::Event end = nullptr;
  check(driver.cuEventCreate(&start, 0), "cuEventCreate");
  check(driver.cuEventCreate(&end, 0), "cuEventCreate");
  std::vector<double> times;
  constexpr int replays = 9;
  for (int replay = -2; replay < replays; ++replay) {
    check(driver.cuEventRecord(start, handle), "cuEventRecord");
    require(graphs.launch(executable, handle), "cuGraphLaunch");
    check(driver.cuEventRecord(end, handle), "cuEventRecord");
    check(driver.cuEventSynchronize(end), "cuEventSynchronize");
    float milliseconds = 0;
    check(driver.cuEventElapsedTime(&milliseconds, start, end), "cuEventElapsedTime");
    if (replay >= 0) times.push_back(1000.0 * static_cast<double>(milliseconds) / static_cast<double>(sets.count()));
  }
  check(driver.cuEventDestroy(start), "cuEventDestroy");
  check(driver.cuEventDestroy(end), "cuEventDestroy");
  require(graphs.destroy_exec(executable), "cuGraphExecDestroy");
  require(graphs.destroy(graph), "cuGraphDestroy");
  std::ranges::nth_element(times, times.begin() + replays / 2);
  return times[replays / 2];
}

/// A kernel with what is said of it: not to be timed if it is not right.
struct Candidate {
  KernelRow row;
  std::unique_ptr<Loaded> kernel;
  std::string remark;
  bool qualified = false;
};

Candidate compile_candidate(CudaDevice& device, const KernelRow& row) {
  Candidate candidate{row, nullptr, {}};
  try {
    candidate.kernel = std::make_unique<Loaded>(device, row);
    const ResourceFacts facts = read_attributes(device.driver(), candidate.kernel->function());
    candidate.remark = fmt::format("{} registers", facts.registers);
    if (facts.local_bytes != 0) candidate.remark += fmt::format(", {} bytes of local memory", facts.local_bytes);
  } catch (const Error& error) {
    candidate.remark = error.what();
  }
  return candidate;
}

void qualify_candidate(CudaDevice& device, Candidate& candidate) {
  if (std::exchange(candidate.qualified, true) || candidate.kernel == nullptr) return;
  const KernelRow& row = candidate.row;
  try {
    const std::string verdict =
        qualify(device, row, tensor_set_for(row.in_type, device, ""), candidate.kernel->function());
    if (verdict.empty()) return;
    candidate.remark = "wrong: " + verdict;
  } catch (const Error& error) {
    candidate.remark = error.what();
  }
  candidate.kernel.reset();
}

/// Makes the processes that time kernels on this machine take turns; compiling needs none.
class Turn {
 public:
  Turn() : file_(open("/tmp/mamba-gemm-tile-bench.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) throw std::runtime_error("no turn: " + std::string(strerror(errno)));
  }
  ~Turn() { close(file_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  Turn(Turn&&) = delete;
  Turn& operator=(Turn&&) = delete;

 private:
  int file_;
};

/// What a kernel depends on besides the tile.
std::string kind_of(const Problem& problem) {
  return fmt::format("{} {} {} {}", name_of(problem.op), name_of(problem.in_type), name_of(problem.out_type),
                     contract_of(problem, sm90_set).slices.count > 1);
}

int run(int argc, char** argv) {
  CLI::App app("Times single kernels on a GPU.");
  std::vector<std::string> texts{"nn:bf16:2048x2560x10240"};
  std::vector<std::string> tiles;
  app.add_option("problems", texts, "problem strings");
  app.add_option("--tile", tiles, "a tile such as mma:16x64x64:4:1x4+4; without any, what the catalogue has")
      ->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  const Graphs graphs;
  CudaDevice device(driver(), 0, nullptr);
  const CurrentContext current(device.driver(), device.context());
  const PrivateStream stream(device);
  // A kernel is made once for all problems that it is for.
  std::map<std::string, Candidate> made;
  std::vector<std::vector<std::pair<std::string, Candidate*>>> of_problems;
  for (const std::string& text : texts) {
    const Problem problem = problem_from_string(text);
    const Contract contract = contract_of(problem, sm90_set);
    auto& found = of_problems.emplace_back();
    const auto add = [&](const std::string& name, const KernelRow& row) {
      const auto [at, is_new] = made.try_emplace(kind_of(problem) + name);
      if (is_new) at->second = compile_candidate(device, row);
      found.emplace_back(name, &at->second);
    };
    for (const std::string& tile : tiles) add(tile, parse_tile(tile, problem));
    if (!tiles.empty()) continue;
    for (const KernelRow& row : catalogue()) {
      if (covers(row, problem, contract, row.alignment) && fits_grid(row, problem)) {
        add(std::string(row.symbol.view()), row);
      }
    }
  }
  const Turn turn;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Problem problem = problem_from_string(texts[i]);
    const Sets sets(device, problem, stream.handle());
    fmt::print("{}\n", texts[i]);
    for (const auto& [name, made_candidate] : of_problems[i]) {
      Candidate& candidate = *made_candidate;
      qualify_candidate(device, candidate);
      const std::string time = candidate.kernel == nullptr
                                   ? "-"
                                   : fmt::format("{:.2f}", time_kernel(device, graphs, stream, sets, problem,
                                                                       candidate.row, candidate.kernel->function()));
      fmt::print("{:36} {:>9} us  {}\n", name, time, candidate.remark);
      static_cast<void>(std::fflush(stdout));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "tile_bench: %s\n", error.what()));
    return 1;
  }
}
