#include <algorithm>
#include <cstring>

#include "api/boundary.hpp"
#include "api/device_info.hpp"

namespace mgemm {

mgemm_device_info to_c(const DeviceFacts& facts) {
  mgemm_device_info info{};
  info.struct_size = sizeof info;
  info.kind = facts.kind;
  info.ordinal = facts.ordinal;
  info.compute_major = facts.compute_major;
  info.compute_minor = facts.compute_minor;
  info.multiprocessors = facts.multiprocessors;
  info.driver_version = facts.driver_version;
  info.shared_bytes_per_block = facts.shared_bytes_per_block;
  info.memory_bytes = facts.memory_bytes;
  info.l2_bytes = facts.l2_bytes;
  std::copy(facts.uuid.begin(), facts.uuid.end(), info.uuid);
  facts.name.copy(info.name, sizeof info.name - 1);
  return info;
}

}  // namespace mgemm

using namespace mgemm;

mgemm_status mgemm_context_options_init(mgemm_context_options* options, size_t size, int32_t device_kind) noexcept {
  return guarded([&] {
    if (device_kind != MGEMM_DEVICE_CUDA && device_kind != MGEMM_DEVICE_REFERENCE) {
      invalid("device_kind is {}; it must be MGEMM_DEVICE_CUDA (1) or MGEMM_DEVICE_REFERENCE (2)", device_kind);
    }
    mgemm_context_options made{};
    made.device_kind = device_kind;
    made.stream_kind = MGEMM_STREAM_OWN;
    made.profile = MGEMM_PROFILE_SM90;
    write_initial(options, "options", size, made);
  });
}

mgemm_status mgemm_context_create(mgemm_context* context, const mgemm_context_options* options) noexcept {
  return guarded([&] {
    require_not_null(context, "context");
    const mgemm_context_options known = read_struct(options, "options");
    require_zero(known.reserved, "options.reserved");
    if (known.reserved0 != 0) invalid("options.reserved0 must be zero");
    *context = contexts().insert(make_context(known));
  });
}

mgemm_status mgemm_context_destroy(mgemm_context context) noexcept {
  if (context == 0) return MGEMM_OK;
  return guarded([&] {
    // In a forked child only host memory is freed.
    const auto abandon = [](Context& inherited) {
      if (inherited.cuda != nullptr) {
        inherited.cuda->abandon();
      } else {
        close(inherited);
      }
    };
    if (contexts().remove_if_forked(context, abandon)) return;
    const auto object = contexts().remove(contexts().lock(context));
    close(*object);
  });
}

mgemm_status mgemm_context_device_info(mgemm_context context, mgemm_device_info* info) noexcept {
  return context_call(context, [&](Context& c) {
    checked_struct_size(info, "info");
    write_struct(info, to_c(c.device->facts()));
  });
}

mgemm_status mgemm_context_stream(mgemm_context context, uint64_t* stream) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(stream, "stream");
    *stream = c.stream;
  });
}

mgemm_status mgemm_context_set_stream(mgemm_context context, uint64_t stream) noexcept {
  return context_call(context, [&](Context& c) {
    c.device->check_stream(stream);
    c.stream = stream;
  });
}

mgemm_status mgemm_context_wait_stream(mgemm_context context, uint64_t stream) noexcept {
  return context_call(context, [&](Context& c) { c.device->wait(c.stream, stream); });
}

mgemm_status mgemm_context_synchronize(mgemm_context context) noexcept {
  return context_call(context, [&](Context& c) {
    require_no_capture(c, "synchronising");
    c.device->synchronize(c.stream);
  });
}
