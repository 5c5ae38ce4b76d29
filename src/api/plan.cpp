#include <bit>

#include "api/boundary.hpp"
#include "api/description.hpp"
#include "numeric/operands.hpp"

using namespace mgemm;

namespace {

/// Plans tell no more alignments apart than kernels do.
constexpr std::int32_t widest_alignment = 16;
constexpr std::int32_t largest_alignment = 256;

std::int32_t checked_alignment(std::int32_t alignment, const Problem& problem) {
  const auto element = static_cast<std::int32_t>(size_of(problem.in_type));
  if (alignment == 0) return element;
  if (alignment < element || alignment > largest_alignment || !std::has_single_bit(static_cast<unsigned>(alignment))) {
    invalid("alignment is {}; it must be 0 or a power of two from {} to {}", alignment, element, largest_alignment);
  }
  return std::min(alignment, widest_alignment);
}

std::shared_ptr<const Plan> plan_for_operands(Context& context, const Problem& problem,
                                              const mgemm_operands& operands) {
  check_operands(problem, operands);  // before anything is compiled
  return plan_for(context, problem, std::min(alignment_of(problem, operands), widest_alignment));
}

std::uint64_t insert_launch(std::uint64_t handle, Context& context, std::shared_ptr<const Plan> plan,
                            const mgemm_operands& operands) {
  auto launch = std::make_unique<Launch>();
  launch->context = handle;
  launch->plan = std::move(plan);
  bind(context, *launch, operands);
  return launches().insert(std::move(launch));
}

}  // namespace

mgemm_status mgemm_plan_create(mgemm_plan* plan, mgemm_context context, const mgemm_problem* problem,
                               int32_t alignment) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(plan, "plan");
    const Problem checked = check_problem(read_struct(problem, "problem"));
    const std::int32_t promised = checked_alignment(alignment, checked);
    auto object = std::make_unique<PlanObject>();
    object->context = context;
    object->plan = plan_for(c, checked, promised);
    *plan = plans().insert(std::move(object));
  });
}

mgemm_status mgemm_plan_destroy(mgemm_plan plan) noexcept {
  if (plan == 0) return MGEMM_OK;
  return guarded([&] {
    if (plans().remove_if_forked(plan, [](const PlanObject&) {})) return;
    plans().remove(plans().lock(plan));
  });
}

mgemm_status mgemm_plan_describe(mgemm_plan plan, mgemm_description* description) noexcept {
  return plan_call(plan, [&](Context& c, const PlanObject& object) {
    checked_struct_size(description, "description");
    write_struct(description, describe(c, *object.plan, object.plan->work, {}));
  });
}

mgemm_status mgemm_plan_describe_json(mgemm_plan plan, char* buffer, size_t capacity, size_t* needed) noexcept {
  return plan_call(plan, [&](Context& c, const PlanObject& object) {
    give_string(describe_json(c, *object.plan, object.plan->work, {}), buffer, capacity, needed);
  });
}

mgemm_status mgemm_launch_create(mgemm_launch* launch, mgemm_plan plan, const mgemm_operands* operands) noexcept {
  return plan_call(plan, [&](Context& c, const PlanObject& object) {
    require_not_null(launch, "launch");
    *launch = insert_launch(object.context, c, object.plan, read_struct(operands, "operands"));
  });
}

mgemm_status mgemm_prepare(mgemm_launch* launch, mgemm_context context, const mgemm_problem* problem,
                           const mgemm_operands* operands) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(launch, "launch");
    const Problem checked = check_problem(read_struct(problem, "problem"));
    const mgemm_operands known = read_struct(operands, "operands");
    *launch = insert_launch(context, c, plan_for_operands(c, checked, known), known);
  });
}

mgemm_status mgemm_gemm(mgemm_context context, const mgemm_problem* problem, const mgemm_operands* operands) noexcept {
  return context_call(context, [&](Context& c) {
    const Problem checked = check_problem(read_struct(problem, "problem"));
    const mgemm_operands known = read_struct(operands, "operands");
    Launch launch;
    launch.plan = plan_for_operands(c, checked, known);
    bind(c, launch, known);
    c.device->enqueue(launch.work, c.stream);
  });
}
