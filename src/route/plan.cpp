#include "route/plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "module/tensor_probe.hpp"
#include "route/dispatch.hpp"

namespace mgemm {
namespace {

bool is_empty(const Problem& problem) { return output_rows(problem) == 0 || output_columns(problem) == 0; }

/// That no kernel may be used, and why each of them.
[[noreturn]] void fail_all(const Plan& plan) {
  const auto any = [&](KernelState state) {
    return std::ranges::any_of(plan.passed_over, [&](const PassedOver& it) { return it.state == state; });
  };
  std::string text = fmt::format("no kernel for {} may be used", to_string(plan.problem));
  std::string_view last;
  for (const PassedOver& it : plan.passed_over) {
    text += fmt::format("; {}: {}", it.kernel, it.reason == last ? "the same" : it.reason);
    last = it.reason;
  }
  if (any(KernelState::broken)) throw Error(MGEMM_QUALIFICATION, text);
  if (any(KernelState::excluded)) throw Error(MGEMM_EXCLUDED, text);
  throw Error(plan.passed_over.front().failure, text, plan.passed_over.front().failure_code);
}

/// The contracts that hold on the plan's device.
const TensorSet& set_on(const PlanTarget& target, const Problem& problem) {
  if (target.cuda != nullptr) return tensor_set_for(problem.in_type, *target.cuda, target.cache_directory);
  const DeviceFacts& facts = target.device.facts();
  return set_of_profile("profile", 10 * facts.compute_major + facts.compute_minor);
}

void plan_kernel(CudaDevice& device, const std::string& cache_directory, const std::vector<const KernelRow*>& rows,
                 Plan& plan) {
  bool too_large = false;
  for (const KernelRow* row : rows) {
    if (!fits_grid(*row, plan.problem)) {
      too_large = true;
      continue;
    }
    KernelLaunch launch = describe_grid(*row, plan.problem, plan.contract, device.facts().multiprocessors);
    LoadedKernel kernel = load_kernel(device, *row, cache_directory);
    if (kernel.state != KernelState::usable) {
      plan.passed_over.push_back(
          {row->symbol.view(), kernel.state, std::move(kernel.reason), kernel.failure, kernel.failure_code});
      continue;
    }
    launch.function = kernel.function;
    plan.work = launch;
    plan.row = row;
    plan.kernel = row->symbol.view();
    plan.code = std::move(kernel.artifact);
    plan.qualification = kernel.qualification;
    return;
  }
  if (!plan.passed_over.empty()) fail_all(plan);
  if (too_large) {
    fail(MGEMM_UNSUPPORTED, "the output of {} has {} x {} elements, more tiles than a grid of 2^31 - 1 blocks holds",
         to_string(plan.problem), output_rows(plan.problem), output_columns(plan.problem));
  }
  fail(MGEMM_UNSUPPORTED, "no kernel for GPUs covers {}, which is {}; the reference device computes it",
       to_string(plan.problem), to_string(plan.contract));
}

}  // namespace

Plan make_plan(const PlanTarget& target, const Problem& problem, std::int32_t alignment, const KernelRow* forced) {
  const DeviceFacts& facts = target.device.facts();
  Plan plan;
  plan.problem = problem;
  plan.contract = contract_of(problem, set_on(target, problem));
  plan.alignment = alignment;
  if (is_empty(problem)) {
    plan.kernel = "none";
  } else if (target.cuda != nullptr) {
    const auto rows =
        forced != nullptr ? std::vector{forced} : candidates(problem, plan.contract, alignment, board_of(facts));
    plan_kernel(*target.cuda, target.cache_directory, rows, plan);
  } else {
    plan.kernel = "evaluator";
    plan.work = HostProduct{problem, plan.contract, {}};
  }
  log(MGEMM_LOG_INFO, "plan {} on {}: {} by {}", to_string(problem), facts.name, to_string(plan.contract), plan.kernel);
  return plan;
}

Work bind_work(const Plan& plan, const mgemm_operands& operands, const CudaDevice* device) {
  Work work = plan.work;
  if (auto* const launch = std::get_if<KernelLaunch>(&work)) {
    set_arguments(*launch, binding_of(*plan.row, *device), plan.problem, plan.contract, operands);
  } else if (auto* const product = std::get_if<HostProduct>(&work)) {
    product->operands = operands;
  }
  return work;
}

}  // namespace mgemm
