#include "context/context.hpp"

#include "base/error.hpp"
#include "base/give_back.hpp"
#include "base/thread_pool.hpp"
#include "cache/location.hpp"

namespace mgemm {
namespace {

void check_stream_options(const mgemm_context_options& options) {
  if (options.stream_kind != MGEMM_STREAM_OWN && options.stream_kind != MGEMM_STREAM_CALLER) {
    invalid("options.stream_kind is {}; it must be MGEMM_STREAM_OWN (1) or MGEMM_STREAM_CALLER (2)",
            options.stream_kind);
  }
  if (options.stream_kind == MGEMM_STREAM_OWN && options.stream != 0) {
    invalid("options.stream is {:#x}; it must be 0 unless stream_kind is MGEMM_STREAM_CALLER", options.stream);
  }
}

void make_reference(Context& context, const mgemm_context_options& options) {
  set_of_profile("options.profile", options.profile);
  if (options.ordinal != 0) invalid("options.ordinal is {}; the reference device has only 0", options.ordinal);
  if (options.cu_context != 0) {
    invalid("options.cu_context is {:#x}; it must be 0 for the reference device", options.cu_context);
  }
  if (options.stream != 0) invalid("options.stream is {:#x}; it must be 0 for the reference device", options.stream);
  context.device = make_reference_device(options.profile, options.threads);
}

void make_cuda(Context& context, const mgemm_context_options& options) {
  if (options.ordinal < 0) invalid("options.ordinal is {}; it must be 0 or more", options.ordinal);
  auto device =
      std::make_unique<CudaDevice>(driver(), options.ordinal, reinterpret_cast<cuda::Context>(options.cu_context));
  context.cuda = device.get();
  context.device = std::move(device);
  if (options.stream_kind == MGEMM_STREAM_CALLER) {
    context.device->check_stream(options.stream);
    context.stream = options.stream;
  } else {
    context.own_stream = context.cuda->make_own_stream();
    context.stream = context.own_stream;
  }
}

}  // namespace

ContextTable& contexts() {
  static constinit ContextTable table;  // nothing to construct or destroy
  return table;
}

std::unique_ptr<Context> make_context(const mgemm_context_options& options) {
  require_thread_count("options.threads", options.threads);
  check_stream_options(options);
  auto context = std::make_unique<Context>();
  context->cache_directory = cache_location_for(options.cache_dir, "options.cache_dir").path;
  context->threads = options.threads;
  if (options.device_kind == MGEMM_DEVICE_REFERENCE) {
    make_reference(*context, options);
  } else if (options.device_kind == MGEMM_DEVICE_CUDA) {
    make_cuda(*context, options);
  } else {
    invalid("options.device_kind is {}; it must be MGEMM_DEVICE_CUDA (1) or MGEMM_DEVICE_REFERENCE (2)",
            options.device_kind);
  }
  return context;
}

void close(Context& context) noexcept {
  if (context.lost) return;
  give_back("a context", [&] {
    if (context.own_stream != 0) context.device->synchronize(context.own_stream);
  });
  // Each by itself: one that fails keeps no other.
  give_back("the memory of a context", [&] {
    for (const std::uint64_t address : context.memory.addresses()) {
      give_back("memory", [&] { context.device->release(address); });
    }
  });
}

void require_no_capture(Context& context, const char* what) {
  if (context.device->is_capturing(context.stream)) {
    fail(MGEMM_STATE, "{} is not possible while the context's stream is being captured", what);
  }
}

std::shared_ptr<const Plan> plan_for(Context& context, const Problem& problem, std::int32_t alignment) {
  if (auto plan = context.plans.find(problem, alignment)) return plan;
  if (context.device->is_capturing(context.stream)) {
    fail(MGEMM_CAPTURE_MISS,
         "the plan of {} is not made yet and cannot be while the stream is captured; make it before",
         to_string(problem));
  }
  auto plan = std::make_shared<const Plan>(
      make_plan({*context.device, context.cuda, context.cache_directory}, problem, alignment));
  context.plans.insert(plan);
  return plan;
}

}  // namespace mgemm
