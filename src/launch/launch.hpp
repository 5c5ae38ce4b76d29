#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/handle_table.hpp"
#include "context/context.hpp"

namespace mgemm {

/// A plan as a handle.
struct PlanObject {
  std::uint64_t context = 0;
  std::shared_ptr<const Plan> plan;
};

/// A plan bound to operands.
struct Launch {
  std::uint64_t context = 0;
  std::shared_ptr<const Plan> plan;
  mgemm_operands operands{};
  Work work;
  std::vector<AllocationStamp> stamps;
  std::uint64_t memory_generation = 0;  // of the registry when the stamps were last known to be good
};

using PlanTable = HandleTable<PlanObject, HandleKind::plan>;
using LaunchTable = HandleTable<Launch, HandleKind::launch>;
PlanTable& plans();
LaunchTable& launches();

/// Checks operands in every way that needs no plan, before anything is compiled or launched for them. What it gives is
/// for seal().
std::vector<AllocationStamp> vet(const Context& context, const Problem& problem, const mgemm_operands& operands);

/// Lays out the arguments for operands that were vetted and are aligned as the plan wants them.
void seal(const Context& context, Launch& launch, const mgemm_operands& operands, std::vector<AllocationStamp> stamps);

/// Checks operands and lays out the arguments; on failure the launch is unchanged.
void bind(const Context& context, Launch& launch, const mgemm_operands& operands);

/// Throws MGEMM_STALE if memory of ours that the launch is bound to is gone. One compare unless something was freed.
inline void check_fresh(const Context& context, Launch& launch) {
  if (launch.memory_generation == context.memory.generation()) return;
  context.memory.check(launch.stamps);
  launch.memory_generation = context.memory.generation();
}

/// Everything that can be checked without running: throws with the name of what changed.
void validate(const Context& context, const Launch& launch);

/// A shadow run against the evaluator. Throws nothing for a mismatch; that is in the report.
mgemm_verify_report verify(Context& context, const Launch& launch, std::int64_t samples, std::uint64_t seed);

}  // namespace mgemm
