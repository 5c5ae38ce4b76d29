#include "fake_cuda/fake_calls.hpp"
#include "fake_cuda/fake_state.hpp"

namespace mgemm::fake::calls {

// ---- Errors and devices ---------------------------------------------------------------------------------------------

struct ErrorName {
  Result result;
  const char* name;
  const char* text;
};

constexpr std::array error_names{
    ErrorName{Result::Success, "CUDA_SUCCESS", "no error"},
    ErrorName{Result::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorName{Result::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorName{Result::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorName{Result::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    ErrorName{Result::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    ErrorName{Result::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorName{Result::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    ErrorName{Result::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorName{Result::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    ErrorName{Result::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

Result error_text(Result error, const char** out, const char* ErrorName::*field) {
  for (const ErrorName& entry : error_names) {
    if (entry.result != error) continue;
    *out = entry.*field;
    return Result::Success;
  }
  *out = nullptr;
  return Result::InvalidValue;
}

Result get_error_name(Result error, const char** name) { return error_text(error, name, &ErrorName::name); }
Result get_error_string(Result error, const char** text) { return error_text(error, text, &ErrorName::text); }

Result init(unsigned) {
  return call("cuInit", [] { return Result::Success; });
}

Result driver_get_version(int* version) {
  return call("cuDriverGetVersion", [&] {
    *version = state->version;
    return Result::Success;
  });
}

Result device_get_count(int* count) {
  return call("cuDeviceGetCount", [&] {
    *count = static_cast<int>(state->devices.size());
    return Result::Success;
  });
}

Result device_get(cuda::Device* device, int ordinal) {
  return call("cuDeviceGet", [&] {
    if (!is_device(ordinal)) return Result::InvalidDevice;
    *device = ordinal;
    return Result::Success;
  });
}

Result device_get_name(char* name, int length, cuda::Device device) {
  return call("cuDeviceGetName", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    if (length <= 0) return Result::InvalidValue;
    const std::string& text = facts(device).name;
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, text.data(), count);
    name[count] = '\0';
    return Result::Success;
  });
}

Result device_get_attribute(int* value, cuda::DeviceAttribute attribute, cuda::Device device) {
  return call("cuDeviceGetAttribute", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    *value = fact(device, attribute);
    return Result::Success;
  });
}

Result device_total_mem(std::size_t* bytes, cuda::Device device) {
  return call("cuDeviceTotalMem", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    *bytes = facts(device).memory_bytes;
    return Result::Success;
  });
}

Result device_get_uuid(cuda::Uuid* uuid, cuda::Device device) {
  return call("cuDeviceGetUuid", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    std::memcpy(uuid->bytes, facts(device).uuid.data(), sizeof uuid->bytes);
    return Result::Success;
  });
}

// ---- Contexts -------------------------------------------------------------------------------------------------------

std::unique_ptr<CUctx_st> new_context(cuda::Device device, bool primary) {
  auto context = std::make_unique<CUctx_st>();
  context->device = device;
  context->id = next_id++;
  context->primary = primary;
  return context;
}

Result primary_retain(cuda::Context* context, cuda::Device device) {
  return call("cuDevicePrimaryCtxRetain", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    std::unique_ptr<CUctx_st>& primary = state->primaries[device];
    if (!primary) primary = new_context(device, true);
    if (primary->retains++ == 0) primary->id = next_id++;  // active anew
    *context = primary.get();
    return Result::Success;
  });
}

Result primary_release(cuda::Device device) {
  return call("cuDevicePrimaryCtxRelease", [&] {
    if (!is_device(device)) return Result::InvalidDevice;
    const auto found = state->primaries.find(device);
    if (found == state->primaries.end() || found->second->retains == 0) return Result::InvalidContext;
    // The object stays, so that a use after the last release is noticed below instead of being a use after free here.
    // Its modules do not survive the last release.
    if (--found->second->retains == 0) {
      std::erase_if(state->modules, [&](const auto& entry) { return entry.second->context == found->second.get(); });
    }
    return Result::Success;
  });
}

Result ctx_get_current(cuda::Context* context) {
  return call("cuCtxGetCurrent", [&] {
    *context = current();
    return Result::Success;
  });
}

Result ctx_push_current(cuda::Context context) {
  return call("cuCtxPushCurrent", [&] {
    if (!is_context(context)) return Result::InvalidContext;
    if (context->primary && context->retains == 0) return Result::ContextIsDestroyed;
    current_stack().push_back(context);
    return Result::Success;
  });
}

Result ctx_pop_current(cuda::Context* context) {
  return call("cuCtxPopCurrent", [&] {
    if (current_stack().empty()) return Result::InvalidContext;
    if (context != nullptr) *context = current();
    current_stack().pop_back();
    return Result::Success;
  });
}

Result ctx_get_device(cuda::Device* device) {
  return context_call("cuCtxGetDevice", [&] {
    *device = current()->device;
    return Result::Success;
  });
}

Result ctx_get_id(cuda::Context context, unsigned long long* id) {
  return call("cuCtxGetId", [&] {
    const cuda::Context which = context != nullptr ? context : current();
    if (which == nullptr || !is_context(which)) return Result::InvalidContext;
    *id = which->id;
    return Result::Success;
  });
}

}  // namespace mgemm::fake::calls
