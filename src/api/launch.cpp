#include "api/boundary.hpp"
#include "api/description.hpp"

using namespace mgemm;

mgemm_status mgemm_launch_bind(mgemm_launch launch, const mgemm_operands* operands) noexcept {
  return launch_call(launch, [&](Context& c, Launch& object) { bind(c, object, read_struct(operands, "operands")); });
}

mgemm_status mgemm_launch_destroy(mgemm_launch launch) noexcept {
  if (launch == 0) return MGEMM_OK;
  return guarded([&] {
    if (launches().remove_if_forked(launch, [](const Launch&) {})) return;
    launches().remove(launches().lock(launch));
  });
}

mgemm_status mgemm_launch_run(mgemm_launch launch) noexcept {
  return launch_call(launch, [](Context& c, Launch& object) {
    check_fresh(c, object);
    c.device->enqueue(object.work, c.stream);
  });
}

mgemm_status mgemm_launch_run_on(mgemm_launch launch, uint64_t stream) noexcept {
  return launch_call(launch, [&](Context& c, Launch& object) {
    check_fresh(c, object);
    if (stream != c.checked_stream) c.device->check_stream(stream);
    c.checked_stream = stream;
    c.device->enqueue(object.work, stream);
  });
}

mgemm_status mgemm_launch_validate(mgemm_launch launch) noexcept {
  return launch_call(launch, [](Context& c, const Launch& object) { validate(c, object); });
}

mgemm_status mgemm_launch_verify(mgemm_launch launch, int64_t samples, uint64_t seed,
                                 mgemm_verify_report* report) noexcept {
  return launch_call(launch, [&](Context& c, Launch& object) {
    if (report != nullptr) checked_struct_size(report, "report");
    require_no_capture(c, "verifying");
    check_fresh(c, object);
    const mgemm_verify_report result = verify(c, object, samples, seed);
    if (report != nullptr) write_struct(report, result);
    if (result.mismatches != 0) {
      fail(MGEMM_MISMATCH,
           "{} of {} elements of {} by {} differ from {}; first at ({}, {}): {:#010x}, expected {:#010x}",
           result.mismatches, result.checked, to_string(object.plan->problem), object.plan->kernel,
           to_string(object.plan->contract), result.first_row, result.first_column, result.got, result.expected);
    }
  });
}

mgemm_status mgemm_launch_describe(mgemm_launch launch, mgemm_description* description) noexcept {
  return launch_call(launch, [&](Context& c, const Launch& object) {
    checked_struct_size(description, "description");
    write_struct(description, describe(c, *object.plan, object.work, object.operands));
  });
}

mgemm_status mgemm_launch_describe_json(mgemm_launch launch, char* buffer, size_t capacity, size_t* needed) noexcept {
  return launch_call(launch, [&](Context& c, const Launch& object) {
    give_string(describe_json(c, *object.plan, object.work, object.operands), buffer, capacity, needed);
  });
}
