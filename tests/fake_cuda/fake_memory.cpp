#include "fake_cuda/fake_calls.hpp"
#include "fake_cuda/fake_state.hpp"

namespace mgemm::fake::calls {

// ---- Memory ---------------------------------------------------------------------------------------------------------

constexpr std::size_t allocation_alignment = 256;

Result mem_alloc(cuda::DevicePtr* pointer, std::size_t bytes) {
  return context_call("cuMemAlloc", [&] {
    if (bytes == 0) return Result::InvalidValue;
    if (bytes > facts(current()->device).memory_bytes) return Result::OutOfMemory;
    // At exactly its size, so that address checkers see an access past the end.
    void* memory = nullptr;
    if (posix_memalign(&memory, allocation_alignment, bytes) != 0) return Result::OutOfMemory;
    std::memset(memory, 0xa5, bytes);
    *pointer = reinterpret_cast<cuda::DevicePtr>(memory);
    state->allocations[*pointer] = {bytes, current(), next_id++};
    return Result::Success;
  });
}

Result mem_free(cuda::DevicePtr pointer) {
  return context_call("cuMemFree", [&] {
    if (pointer == 0) return Result::Success;
    if (state->allocations.erase(pointer) == 0) return Result::InvalidValue;
    std::free(host(pointer));
    return Result::Success;
  });
}

Result mem_get_info(std::size_t* available, std::size_t* total) {
  return context_call("cuMemGetInfo", [&] {
    std::size_t used = 0;
    for (const auto& [base, allocation] : state->allocations) used += allocation.bytes;
    *total = facts(current()->device).memory_bytes;
    *available = *total - std::min(used, *total);
    return Result::Success;
  });
}

Result copy_host_to_device(cuda::DevicePtr to, const void* from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyHtoDAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(to, bytes)) return Result::InvalidValue;
    std::memmove(host(to), from, bytes);
    return Result::Success;
  });
}

Result copy_device_to_host(void* to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyDtoHAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(from, bytes)) return Result::InvalidValue;
    std::memmove(to, host(from), bytes);
    return Result::Success;
  });
}

Result copy_device_to_device(cuda::DevicePtr to, cuda::DevicePtr from, std::size_t bytes, cuda::Stream stream) {
  return context_call("cuMemcpyDtoDAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (!is_device_range(to, bytes) || !is_device_range(from, bytes)) return Result::InvalidValue;
    std::memmove(host(to), host(from), bytes);
    return Result::Success;
  });
}

/// One side of a two-dimensional copy: its first byte, or nullptr if it leaves its allocation.
char* side_2d(cuda::MemoryType type, const void* host_base, cuda::DevicePtr device_base, std::size_t x, std::size_t y,
              std::size_t pitch, const cuda::Memcpy2D& copy) {
  const std::size_t offset = y * pitch + x;
  if (type == cuda::MemoryType::Host) return const_cast<char*>(static_cast<const char*>(host_base)) + offset;
  if (type != cuda::MemoryType::Device && type != cuda::MemoryType::Unified) return nullptr;
  const std::size_t extent = (copy.height - 1) * pitch + copy.width_bytes;
  if (!is_device_range(device_base + offset, extent)) return nullptr;
  return static_cast<char*>(host(device_base + offset));
}

Result copy_2d(const cuda::Memcpy2D* copy, cuda::Stream stream) {
  return context_call("cuMemcpy2DAsync", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (copy->width_bytes == 0 || copy->height == 0) return Result::Success;
    const bool pitches = (copy->src_pitch >= copy->src_x_bytes + copy->width_bytes &&
                          copy->dst_pitch >= copy->dst_x_bytes + copy->width_bytes) ||
                         copy->height == 1;
    char* const from = side_2d(copy->src_type, copy->src_host, copy->src_device, copy->src_x_bytes, copy->src_y,
                               copy->src_pitch, *copy);
    char* const to = side_2d(copy->dst_type, copy->dst_host, copy->dst_device, copy->dst_x_bytes, copy->dst_y,
                             copy->dst_pitch, *copy);
    if (!pitches || from == nullptr || to == nullptr) return Result::InvalidValue;
    for (std::size_t row = 0; row < copy->height; ++row) {
      std::memmove(to + row * copy->dst_pitch, from + row * copy->src_pitch, copy->width_bytes);
    }
    return Result::Success;
  });
}

Result memset_d32(cuda::DevicePtr to, unsigned value, std::size_t count, cuda::Stream stream) {
  return context_call("cuMemsetD32Async", [&] {
    if (!is_stream(stream)) return Result::InvalidHandle;
    if (to % sizeof value != 0 || !is_device_range(to, count * sizeof value)) return Result::InvalidValue;
    std::fill_n(static_cast<unsigned*>(host(to)), count, value);
    return Result::Success;
  });
}

template <typename T>
Result put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return Result::Success;
}

Result pointer_get_attribute(void* data, cuda::PointerAttribute attribute, cuda::DevicePtr pointer) {
  return context_call("cuPointerGetAttribute", [&] {
    cuda::DevicePtr base = 0;
    const Allocation* const found = allocation_of(pointer, 1, &base);
    if (attribute == cuda::PointerAttribute::Mapped) return put(data, int{found != nullptr});
    if (found == nullptr) return Result::InvalidValue;
    switch (attribute) {
      case cuda::PointerAttribute::Context:
        return put(data, found->context);
      case cuda::PointerAttribute::MemoryType:
        return put(data, cuda::MemoryType::Device);
      case cuda::PointerAttribute::DevicePointer:
        return put(data, pointer);
      case cuda::PointerAttribute::BufferId:
        return put(data, found->id);
      case cuda::PointerAttribute::IsManaged:
        return put(data, 0U);
      case cuda::PointerAttribute::DeviceOrdinal:
        return put(data, found->context->device);
      case cuda::PointerAttribute::RangeStartAddr:
        return put(data, base);
      case cuda::PointerAttribute::RangeSize:
        return put(data, found->bytes);
      default:
        return Result::InvalidValue;
    }
  });
}

}  // namespace mgemm::fake::calls
