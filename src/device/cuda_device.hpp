#pragma once
#include <memory>

#include "device/device.hpp"
#include "device/driver_table.hpp"

namespace mgemm {

/// A GPU in one CUDA context: the caller's, or the device's primary one, retained while this lives.
class CudaDevice final : public Device {
 public:
  /// `context` nullptr is the primary one.
  CudaDevice(const DriverTable& driver, int ordinal, cuda::Context context);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  CudaDevice(CudaDevice&&) = delete;
  CudaDevice& operator=(CudaDevice&&) = delete;
  ~CudaDevice() override;

  const DeviceFacts& facts() const override { return facts_; }
  const DriverTable& driver() const { return driver_; }
  cuda::Context context() const { return context_; }
  /// Unique in the process, never used again after the context is destroyed.
  std::uint64_t context_id() const { return context_id_; }

  /// A non-blocking stream that the device destroys at its end.
  Stream make_own_stream();

  /// In a forked child: the destructor must not call the driver.
  void abandon() { abandoned_ = true; }

  void check_stream(Stream stream) override;
  bool is_capturing(Stream stream) override;
  void wait(Stream waiting, Stream awaited) override;
  void synchronize(Stream stream) override;
  void check_memory(const char* name, std::uint64_t address) override;
  std::uint64_t allocate(std::int64_t bytes) override;
  void release(std::uint64_t address) override;
  void upload(std::uint64_t destination, const void* source, std::int64_t bytes, Stream stream) override;
  void download(void* destination, std::uint64_t source, std::int64_t bytes, Stream stream) override;
  void download_elements(void* destination, std::uint64_t source, std::int64_t size, std::int64_t stride,
                         std::int64_t count, Stream stream) override;
  void copy(std::uint64_t destination, std::uint64_t source, std::int64_t bytes, Stream stream) override;
  void fill_words(std::uint64_t destination, std::uint32_t word, std::int64_t count, Stream stream) override;
  void enqueue(const Work& work, Stream stream) override;

 private:
  void release_primary() noexcept;

  const DriverTable& driver_;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  bool retained_ = false;
  bool abandoned_ = false;
  std::uint64_t context_id_ = 0;
  cuda::Stream own_stream_ = nullptr;
  DeviceFacts facts_;
};

/// What the driver says of a device, without making a context on it.
DeviceFacts read_facts(const DriverTable& driver, int ordinal);

}  // namespace mgemm
