#include "module/tensor_probe.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/give_back.hpp"
#include "compile/tensor_probe_text.hpp"
#include "device/current_context.hpp"
#include "device/private_stream.hpp"
#include "kernel/describe.hpp"
#include "memory/scratch.hpp"
#include "module/module_code.hpp"
#include "numeric/element.hpp"

namespace mgemm {
namespace {

constexpr std::int64_t probe_rows = 3 * tensor_probe_rows;
constexpr std::int64_t probe_steps = 64;  // several instructions, so that sums are accumulators, too

/// By how many powers of two an element is smaller than the others: from row to row over a wider range, so that some
/// rows show what is cut off, and others what cancels before it is.
int spread(std::int64_t row, std::int64_t step) { return static_cast<int>((7 * step + 3 * row) % (1 + row % 27)); }

/// The elements of a matrix with every row along the reduction.
template <typename Change>
void change_elements(ProbeBlock& block, std::int64_t first, const Layout& layout, Change change) {
  with_elements(layout.type, [&](auto elements) {
    void* const array = block.bytes.data() + first;
    for (std::int64_t i = 0; i < layout.rows; ++i) {
      for (std::int64_t j = 0; j < layout.columns; ++j) {
        const std::int64_t index = i * layout.leading + j;
        elements.store(array, index, change(elements.load(array, index), i, j));
      }
    }
  });
}

float as_tf32(float value) { return std::bit_cast<float>(round_to_tf32(std::bit_cast<std::uint32_t>(value))); }

/// A module in the current context, for a scope.
class ScopedModule {
 public:
  ScopedModule(const DriverTable& driver, cuda::Module module) : driver_(driver), module_(module) {}
  ~ScopedModule() {
    give_back("a module", [&] { check(driver_.cuModuleUnload(module_), "cuModuleUnload"); });
  }
  ScopedModule(const ScopedModule&) = delete;
  ScopedModule& operator=(const ScopedModule&) = delete;
  ScopedModule(ScopedModule&&) = delete;
  ScopedModule& operator=(ScopedModule&&) = delete;

  cuda::Function function(const char* symbol) const {
    cuda::Function found = nullptr;
    check(driver_.cuModuleGetFunction(&found, module_, symbol), "cuModuleGetFunction", "{}", symbol);
    return found;
  }

 private:
  const DriverTable& driver_;
  cuda::Module module_;
};

/// A product of one type, and what the board made of it.
struct Observation {
  Type type;
  std::size_t number;  // among tensor_probes()
  ProbeBlock before, after;
};

ProbeBlock run_probe(CudaDevice& device, const ScopedModule& module, const TensorProbeKernel& kernel,
                     const Probe& probe, const ProbeBlock& before) {
  const auto bytes = static_cast<std::int64_t>(before.bytes.size());
  const PrivateStream stream(device);
  const Scratch scratch(device, bytes);
  KernelLaunch launch;
  launch.symbol = kernel.symbol;
  launch.function = module.function(kernel.symbol);
  launch.grid = {static_cast<std::uint32_t>(output_rows(probe.problem) / tensor_probe_rows), 1, 1};
  launch.block = {static_cast<std::uint32_t>(warp_size), 1, 1};
  set_arguments(launch, {}, probe.problem, probe.contract, before.operands(probe, scratch.address()));
  device.upload(scratch.address(), before.bytes.data(), bytes, stream.handle());
  device.enqueue(launch, stream.handle());
  ProbeBlock after = before;
  device.download(after.bytes.data(), scratch.address(), bytes, stream.handle());
  return after;
}

std::vector<Observation> observe(CudaDevice& device, const std::string& cache_directory) {
  const DeviceFacts& facts = device.facts();
  // Before there is a module to unload, so that nothing can fail in between.
  const CurrentContext current(device.driver(), device.context());
  const LoadedModule loaded = load_module(
      device, {tensor_probe_module, facts.compute_major, facts.compute_minor, facts.driver_version, cache_directory});
  const ScopedModule module(device.driver(), loaded.module);
  std::vector<Observation> seen;
  for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
    const std::vector<Probe> probes = tensor_probes(kernel.type, tensor_sets.front());
    for (std::size_t number = 0; number < probes.size(); ++number) {
      ProbeBlock before = tensor_block(probes[number]);
      ProbeBlock after = run_probe(device, module, kernel, probes[number], before);
      seen.push_back({kernel.type, number, std::move(before), std::move(after)});
    }
  }
  return seen;
}

/// "", or the first thing that this set does not explain.
std::string objection(const std::vector<Observation>& seen, const TensorSet& set) {
  for (const Observation& it : seen) {
    const Probe probe = tensor_probes(it.type, set).at(it.number);
    std::string difference = first_difference(probe, expected_block(probe, it.before), it.after);
    if (!difference.empty()) return difference;
  }
  return {};
}

/// What is known of a CUDA context's board. The mutex is held while it is being found out.
struct Finding {
  std::mutex mutex;
  const TensorSet* set = nullptr;
  std::string refusal;  // if there is none
};

std::shared_ptr<Finding> finding_of(std::uint64_t context_id) {
  struct Findings {
    std::mutex mutex;
    std::map<std::uint64_t, std::shared_ptr<Finding>> by_context;
  };
  static auto* const all = new Findings;  // never destroyed
  const std::lock_guard lock(all->mutex);
  std::shared_ptr<Finding>& finding = all->by_context[context_id];
  if (finding == nullptr) finding = std::make_shared<Finding>();
  return finding;
}

void find_out(CudaDevice& device, const std::string& cache_directory, Finding& finding) {
  const DeviceFacts& facts = device.facts();
  const auto start = std::chrono::steady_clock::now();
  std::vector<Observation> seen;
  try {
    seen = observe(device, cache_directory);
  } catch (const Error& error) {
    throw Error(
        error.status(),
        fmt::format("the arithmetic of the tensor cores of {} could not be found out: {}", facts.name, error.what()),
        error.driver_code());
  }
  std::string differences;
  for (const TensorSet& set : tensor_sets) {
    const std::string difference = objection(seen, set);
    if (difference.empty()) {
      finding.set = &set;
      log(MGEMM_LOG_INFO, "the tensor cores of {} compute {} and {}, as {} has it; found out in {:.1f} ms", facts.name,
          to_string(set.halves), to_string(set.tf32), set.name,
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      return;
    }
    differences += fmt::format("; not {}: {}", set.name, difference);
  }
  finding.refusal = fmt::format(
      "the tensor cores of {} (compute capability {}.{}) add in a way that this release does not know, so bf16, f16 "
      "and "
      "tf32 problems are not served there; f32 problems are, and the reference device computes all types{}",
      facts.name, facts.compute_major, facts.compute_minor, differences);
  log(MGEMM_LOG_WARN, "{}", finding.refusal);
}

}  // namespace

std::vector<Probe> tensor_probes(Type type, const TensorSet& set) {
  Problem p;
  p.op = Op::nt;
  p.in_type = type;
  p.out_type = Type::f32;
  p.m = probe_rows;
  p.n = probe_steps;
  p.k = tensor_probe_columns;
  p.lda = layout_a(p).columns;
  p.ldb = layout_b(p).columns;
  p.ldout = output_columns(p);
  p.alpha = 1;
  p.beta = 0;
  const Contract contract = contract_of(p, set);
  return {{.problem = p, .contract = contract}, {.problem = p, .contract = contract, .exceptional = true}};
}

ProbeBlock tensor_block(const Probe& probe) {
  const Problem& p = probe.problem;
  ProbeBlock block = make_block(probe, tensor_probe_module);
  if (!probe.exceptional) {
    change_elements(block, block.a, layout_a(p), [](float value, std::int64_t row, std::int64_t step) {
      return std::ldexp(value, -spread(row, step));
    });
  }
  // As the instruction wants it, which does not round.
  if (p.in_type == Type::tf32) {
    const auto round = [](float value, std::int64_t, std::int64_t) { return as_tf32(value); };
    change_elements(block, block.a, layout_a(p), round);
    change_elements(block, block.b, layout_b(p), round);
  }
  return block;
}

const TensorSet& tensor_set_of(CudaDevice& device, const std::string& cache_directory) {
  const LogDeferral deferral;  // what is logged below is delivered once the lock is released
  const std::shared_ptr<Finding> finding = finding_of(device.context_id());
  const std::lock_guard lock(finding->mutex);
  if (finding->set == nullptr && finding->refusal.empty()) find_out(device, cache_directory, *finding);
  if (finding->set == nullptr) fail(MGEMM_UNSUPPORTED, "{}", finding->refusal);
  return *finding->set;
}

const TensorSet& tensor_set_for(Type type, CudaDevice& device, const std::string& cache_directory) {
  return uses_tensor_cores(type) ? tensor_set_of(device, cache_directory) : tensor_sets.front();
}

}  // namespace mgemm
