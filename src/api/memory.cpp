#include <limits>

#include "api/boundary.hpp"

using namespace mgemm;

namespace {

void check_transfer(const Context& context, std::uint64_t device, const void* host, const char* device_name,
                    const char* host_name, std::int64_t bytes) {
  if (bytes < 0) invalid("bytes is {}; it must be 0 or more", bytes);
  if (bytes == 0) return;
  if (device == 0) invalid("{} is 0", device_name);
  require_not_null(host, host_name);
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (device > last - static_cast<std::uint64_t>(bytes)) {
    invalid("{} {:#x} and {} bytes go past the end of the address space", device_name, device, bytes);
  }
  static_cast<void>(context.memory.inside(device_name, device, bytes));
}

}  // namespace

mgemm_status mgemm_alloc(mgemm_context context, int64_t bytes, uint64_t* address) noexcept {
  return context_call(context, [&](Context& c) {
    require_not_null(address, "address");
    if (bytes < 1) invalid("bytes is {}; it must be 1 or more", bytes);
    require_no_capture(c, "allocating");
    const std::uint64_t allocated = c.device->allocate(bytes);
    try {
      c.memory.add(allocated, bytes);
    } catch (...) {
      c.device->release(allocated);
      throw;
    }
    *address = allocated;
  });
}

mgemm_status mgemm_free(mgemm_context context, uint64_t address) noexcept {
  return context_call(context, [&](Context& c) {
    if (address == 0) return;
    require_no_capture(c, "freeing");
    c.memory.require(address);
    c.device->synchronize(c.stream);
    c.device->release(address);
    c.memory.remove(address);
  });
}

mgemm_status mgemm_upload(mgemm_context context, uint64_t destination, const void* source, int64_t bytes) noexcept {
  return context_call(context, [&](Context& c) {
    check_transfer(c, destination, source, "destination", "source", bytes);
    require_no_capture(c, "uploading");
    if (bytes != 0) c.device->upload(destination, source, bytes, c.stream);
  });
}

mgemm_status mgemm_download(mgemm_context context, void* destination, uint64_t source, int64_t bytes) noexcept {
  return context_call(context, [&](Context& c) {
    check_transfer(c, source, destination, "source", "destination", bytes);
    require_no_capture(c, "downloading");
    if (bytes != 0) c.device->download(destination, source, bytes, c.stream);
  });
}
