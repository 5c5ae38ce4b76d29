#include "launch/launch.hpp"

#include <cstring>

#include "base/error.hpp"
#include "numeric/operands.hpp"

namespace mgemm {
namespace {

void check_alignment(const Plan& plan, const mgemm_operands& operands) {
  const std::int32_t actual = alignment_of(plan.problem, operands);
  if (actual % plan.alignment != 0) {
    invalid(
        "operands.a is {:#x} and operands.b is {:#x} with rows of {} and {} elements: aligned to {} bytes, but the "
        "plan "
        "was made for {}",
        operands.a, operands.b, plan.problem.lda, plan.problem.ldb, actual, plan.alignment);
  }
}

std::vector<AllocationStamp> stamp_all(const Context& context, const Problem& problem, const mgemm_operands& operands) {
  std::vector<AllocationStamp> stamps;
  const auto addresses = input_addresses(operands);
  const auto inputs = inputs_of(problem);
  for (size_t i = 0; i < inputs.size(); ++i) {
    context.memory.stamp(inputs.at(i).name, addresses.at(i), span_bytes(inputs.at(i).layout), stamps);
  }
  context.memory.stamp("out", operands.out, span_bytes(layout_out(problem)), stamps);
  return stamps;
}

bool same_bytes(const mgemm_operands& a, const mgemm_operands& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_work(const Work& a, const Work& b) {
  if (a.index() != b.index()) return false;
  if (const auto* const launch = std::get_if<KernelLaunch>(&a)) return *launch == std::get<KernelLaunch>(b);
  if (const auto* const product = std::get_if<HostProduct>(&a)) {
    const auto& other = std::get<HostProduct>(b);
    const mgemm_problem mine = to_c(product->problem);
    const mgemm_problem theirs = to_c(other.problem);
    return std::memcmp(&mine, &theirs, sizeof mine) == 0 && same_bytes(product->operands, other.operands);
  }
  return true;
}

}  // namespace

PlanTable& plans() {
  static auto* const table = new PlanTable;  // never destroyed
  return *table;
}

LaunchTable& launches() {
  static auto* const table = new LaunchTable;  // never destroyed
  return *table;
}

void bind(Context& context, Launch& launch, const mgemm_operands& operands) {
  const Plan& plan = *launch.plan;
  check_operands(plan.problem, operands);
  check_alignment(plan, operands);
  std::vector<AllocationStamp> stamps = stamp_all(context, plan.problem, operands);
  launch.work = bind_work(plan, operands);
  launch.operands = operands;
  launch.stamps = std::move(stamps);
  launch.memory_generation = context.memory.generation();
}

void validate(const Context& context, const Launch& launch) {
  context.memory.check(launch.stamps);
  if (!same_work(launch.work, bind_work(*launch.plan, launch.operands))) {
    fail(MGEMM_STALE, "the launch description of {} no longer agrees with its plan and operands",
         to_string(launch.plan->problem));
  }
}

}  // namespace mgemm
