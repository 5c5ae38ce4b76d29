#include "api/alignment.hpp"
#include "api/boundary.hpp"
#include "api/description.hpp"
#include "numeric/operands.hpp"

using namespace mgemm;

namespace {

/// Makes the launch one of this problem on these operands.
void plan_and_bind(Context& context, Launch& launch, const mgemm_problem* problem, const mgemm_operands* operands) {
  const Problem checked = check_problem(read_struct(problem, "problem"));
  const mgemm_operands known = read_struct(operands, "operands");
  std::vector<AllocationStamp> stamps = vet(context, checked, known);
  launch.plan = plan_for(context, checked, std::min(alignment_of(checked, known), widest_alignment));
  seal(context, launch, known, std::move(stamps));
}

std::unique_ptr<Launch> launch_of(std::uint64_t context) {
  auto launch = std::make_unique<Launch>();
  launch->context = context;
  return launch;
}

}  // namespace

mgemm_status mgemm_plan_create(mgemm_plan* plan, mgemm_context context, const mgemm_problem* problem,
                               int32_t alignment) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(plan, "plan");
    const Problem checked = check_problem(read_struct(problem, "problem"));
    const std::int32_t promised = plan_alignment(alignment, checked);
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
    auto made = launch_of(object.context);
    made->plan = object.plan;
    bind(c, *made, read_struct(operands, "operands"));
    *launch = launches().insert(std::move(made));
  });
}

mgemm_status mgemm_prepare(mgemm_launch* launch, mgemm_context context, const mgemm_problem* problem,
                           const mgemm_operands* operands) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(launch, "launch");
    auto made = launch_of(context);
    plan_and_bind(c, *made, problem, operands);
    *launch = launches().insert(std::move(made));
  });
}

mgemm_status mgemm_gemm(mgemm_context context, const mgemm_problem* problem, const mgemm_operands* operands) noexcept {
  return context_call(context, [&](Context& c) {
    Launch launch;
    plan_and_bind(c, launch, problem, operands);
    c.device->enqueue(launch.work, c.stream);
  });
}
