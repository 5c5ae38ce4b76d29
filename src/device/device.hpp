#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "device/driver_build.hpp"
#include "device/work.hpp"

namespace mgemm {

/// What is known of a board, or of the host that stands in for one.
struct DeviceFacts {
  std::int32_t kind = 0;  // MGEMM_DEVICE_*
  std::int32_t ordinal = 0;
  std::int32_t compute_major = 0, compute_minor = 0;
  std::int32_t multiprocessors = 0;
  std::int32_t driver_version = 0;
  std::int32_t shared_bytes_per_block = 0;
  std::int64_t memory_bytes = 0, l2_bytes = 0;
  bool tensor_maps = false;
  DriverBuild driver_build;
  std::array<std::uint8_t, 16> uuid{};
  std::string name;
};

/// Memory of a device and the queue that does its work: the only place anything is enqueued. Used by one thread at a
/// time.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  Device(Device&&) = delete;
  Device& operator=(Device&&) = delete;
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;

  /// Throws unless work may be enqueued on `stream`.
  virtual void check_stream(Stream stream) = 0;
  virtual bool is_capturing(Stream stream) = 0;
  virtual void wait(Stream waiting, Stream awaited) = 0;
  virtual void synchronize(Stream stream) = 0;

  /// Throws unless the device can work on the memory at `address`; `name` is what messages call it.
  virtual void check_memory(const char* name, std::uint64_t address) = 0;

  virtual std::uint64_t allocate(std::int64_t bytes) = 0;
  virtual void release(std::uint64_t address) = 0;

  /// Ordered on the stream and complete on return.
  virtual void upload(std::uint64_t destination, const void* source, std::int64_t bytes, Stream stream) = 0;
  virtual void download(void* destination, std::uint64_t source, std::int64_t bytes, Stream stream) = 0;
  /// `count` elements of `size` bytes, `stride` bytes apart on the device, packed on the host.
  virtual void download_elements(void* destination, std::uint64_t source, std::int64_t size, std::int64_t stride,
                                 std::int64_t count, Stream stream) = 0;
  /// Ordered on the stream.
  virtual void copy(std::uint64_t destination, std::uint64_t source, std::int64_t bytes, Stream stream) = 0;
  virtual void fill_words(std::uint64_t destination, std::uint32_t word, std::int64_t count, Stream stream) = 0;
  virtual void enqueue(const Work& work, Stream stream) = 0;
};

/// Host memory, and the evaluator on up to `threads` threads (0: all). `profile` is an MGEMM_PROFILE_*.
std::unique_ptr<Device> make_reference_device(std::int32_t profile, int threads);

}  // namespace mgemm
