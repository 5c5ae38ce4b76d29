#include "launch/launch.hpp"

#include <cstring>
#include <utility>

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

/// Every operand that is read or written, with its address.
template <typename Visit>
void for_each_operand(const Problem& problem, const mgemm_operands& operands, Visit visit) {
  const auto addresses = input_addresses(operands);
  const auto inputs = inputs_of(problem);
  constexpr std::array<const char*, 3> names{"operands.a", "operands.b", "operands.bias"};
  for (size_t i = 0; i < inputs.size(); ++i) visit(names.at(i), addresses.at(i), inputs.at(i).layout);
  visit("operands.out", operands.out, layout_out(problem));
}

/// Memory of ours is checked against its allocation and stamped, memory from elsewhere against what the device knows.
std::vector<AllocationStamp> stamp_all(const Context& context, const Problem& problem, const mgemm_operands& operands) {
  std::vector<AllocationStamp> stamps;
  for_each_operand(problem, operands, [&](const char* name, std::uint64_t address, const Layout& layout) {
    const std::int64_t bytes = span_bytes(layout);
    if (bytes == 0) return;
    if (const auto stamp = context.memory.inside(name, address, bytes)) {
      stamps.push_back(*stamp);
    } else {
      context.device->check_memory(name, address);
    }
  });
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
  static constinit PlanTable table;  // nothing to construct or destroy
  return table;
}

LaunchTable& launches() {
  static constinit LaunchTable table;  // nothing to construct or destroy
  return table;
}

std::vector<AllocationStamp> vet(const Context& context, const Problem& problem, const mgemm_operands& operands) {
  check_operands(problem, operands);
  return stamp_all(context, problem, operands);
}

void seal(const Context& context, Launch& launch, const mgemm_operands& operands, std::vector<AllocationStamp> stamps) {
  launch.work = bind_work(*launch.plan, operands, context.cuda);
  launch.operands = operands;
  launch.stamps = std::move(stamps);
  launch.memory_generation = context.memory.generation();
}

void bind(const Context& context, Launch& launch, const mgemm_operands& operands) {
  std::vector<AllocationStamp> stamps = vet(context, launch.plan->problem, operands);
  check_alignment(*launch.plan, operands);
  seal(context, launch, operands, std::move(stamps));
}

void validate(const Context& context, const Launch& launch) {
  context.memory.check(launch.stamps);
  stamp_all(context, launch.plan->problem, launch.operands);
  if (!same_work(launch.work, bind_work(*launch.plan, launch.operands, context.cuda))) {
    fail(MGEMM_STALE, "the launch description of {} no longer agrees with its plan and operands",
         to_string(launch.plan->problem));
  }
}

}  // namespace mgemm
