#include "fake_cuda/fake_calls.hpp"
#include "fake_cuda/fake_state.hpp"

namespace mgemm::fake::calls {

// ---- Streams and events ---------------------------------------------------------------------------------------------

Result stream_create(cuda::Stream* stream, unsigned) {
  return context_call("cuStreamCreate", [&] {
    auto made = std::make_unique<CUstream_st>();
    made->context = current();
    *stream = made.get();
    state->streams.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result stream_destroy(cuda::Stream stream) {
  return context_call("cuStreamDestroy",
                      [&] { return state->streams.erase(stream) == 1 ? Result::Success : Result::InvalidHandle; });
}

Result stream_synchronize(cuda::Stream stream) {
  return context_call("cuStreamSynchronize",
                      [&] { return is_stream(stream) ? Result::Success : Result::InvalidHandle; });
}

Result stream_wait_event(cuda::Stream stream, cuda::Event event, unsigned) {
  return context_call("cuStreamWaitEvent", [&] {
    return is_stream(stream) && state->events.contains(event) ? Result::Success : Result::InvalidHandle;
  });
}

Result stream_get_ctx(cuda::Stream stream, cuda::Context* context) {
  return context_call("cuStreamGetCtx", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    *context = stream != nullptr ? stream->context : current();
    return Result::Success;
  });
}

Result stream_is_capturing(cuda::Stream stream, cuda::CaptureStatus* status) {
  return context_call("cuStreamIsCapturing", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    const auto found = state->capture.find(stream);
    *status = found == state->capture.end() ? cuda::CaptureStatus::None : found->second;
    return Result::Success;
  });
}

Result event_create(cuda::Event* event, unsigned) {
  return context_call("cuEventCreate", [&] {
    auto made = std::make_unique<CUevent_st>();
    *event = made.get();
    state->events.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result event_record(cuda::Event event, cuda::Stream stream) {
  return context_call("cuEventRecord", [&] {
    if (!is_stream(stream) || !state->events.contains(event)) return Result::InvalidHandle;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return Result::Success;
  });
}

Result event_synchronize(cuda::Event event) {
  return context_call("cuEventSynchronize",
                      [&] { return state->events.contains(event) ? Result::Success : Result::InvalidHandle; });
}

Result event_elapsed_time(float* milliseconds, cuda::Event start, cuda::Event end) {
  return context_call("cuEventElapsedTime", [&] {
    if (!state->events.contains(start) || !state->events.contains(end)) return Result::InvalidHandle;
    if (!start->recorded || !end->recorded) return Result::InvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return Result::Success;
  });
}

Result event_destroy(cuda::Event event) {
  return context_call("cuEventDestroy",
                      [&] { return state->events.erase(event) == 1 ? Result::Success : Result::InvalidHandle; });
}

}  // namespace mgemm::fake::calls
