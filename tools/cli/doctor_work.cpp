#include "doctor_work.hpp"

#include <utility>

#include <fmt/core.h>

#include "check.hpp"
#include "compute.hpp"
#include "device.hpp"
#include "first_kernel.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "operands.hpp"

namespace mgemm::cli {
namespace {

/// Bias, factors and edges that no tile divides: whatever a kernel does, this does a bit of it.
constexpr const char* small_problem = "nn:f32:67x130x75:bias:alpha=0.5:beta=-1.5";
/// The same on tensor cores.
constexpr const char* tensor_problem = "nn:bf16:67x130x75:bias:alpha=0.5:beta=-1.5";

std::string any_target() {
  std::string target;
  for_first_kernel("all", false, [&](const mgemm_kernel_info& kernel) { target = kernel.target; });
  return target;
}

std::string remedy_of(const mamba_gemm::Error& error) {
  switch (error.status()) {
    case MGEMM_OUT_OF_MEMORY:
      return "free memory: on a GPU, nvidia-smi shows which processes have it";
    case MGEMM_DEVICE_LOST:
    case MGEMM_DRIVER:
      return "look for the GPU's errors (Xid) in the kernel's log, and restart the machine if nvidia-smi fails too";
    case MGEMM_UNSUPPORTED:
      return "use another type, or the reference device, and report this with the output of mamba-gemm info";
    case MGEMM_QUALIFICATION:
    case MGEMM_MISMATCH:
    case MGEMM_EXCLUDED:
      return "do not use this device, and report this with the output of mamba-gemm info";
    default:
      return "run mamba-gemm doctor again with MAMBA_GEMM_LOG=info, which says what led to it";
  }
}

struct Product {
  std::string contract;
  Comparison comparison;
};

Product run_product(const DeviceChoice& device, const char* problem) {
  const HostOperands operands = random_operands(problem_of(problem), 1);
  mamba_gemm::Context context = open_context(device, 0);
  Progress progress;
  const Computed computed = compute(context, operands, 1, progress);
  // All of it is compared with a reference context, and as many elements with mgemm_evaluate.
  return {computed.description.contract, check_output(operands, computed.out,
                                                      {.samples = operands.layouts.out.elements(),
                                                       .by_reference = true,
                                                       .profile = computed.description.profile})};
}

Check checked_product(std::string name, const std::string& device, const char* problem) {
  Check check{std::move(name), State::ok, ""};
  try {
    const auto [contract, comparison] = run_product(parse_device(device), problem);
    check.found = fmt::format("{}: {} of {} elements equal the contract {} bit for bit", problem, comparison.equal,
                              comparison.checked, contract);
    if (comparison.passed()) return check;
    check.remedy = "do not use this device, and report this with the output of mamba-gemm info";
  } catch (const mamba_gemm::Error& error) {
    check.found = fmt::format("{}: {}", error.status_name(), error.what());
    check.remedy = remedy_of(error);
    check.state = error.status() == MGEMM_UNSUPPORTED && problem == tensor_problem ? State::note : State::problem;
    return check;
  }
  check.state = State::problem;
  return check;
}

}  // namespace

Compiled compile_one_kernel(const std::string& target) {
  Compiled compiled;
  for_first_kernel(target.empty() ? any_target() : target, true,
                   [&](const mgemm_kernel_info& kernel) { compiled = compiled_of(kernel); });
  return compiled;
}

std::vector<Check> check_products(const std::string& device) {
  return {checked_product("product on " + device, device, small_problem),
          checked_product("tensor cores on " + device, device, tensor_problem)};
}

}  // namespace mgemm::cli
