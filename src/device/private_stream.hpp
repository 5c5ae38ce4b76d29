#pragma once
#include "base/give_back.hpp"
#include "device/cuda_device.hpp"
#include "device/current_context.hpp"

namespace mgemm {

/// A non-blocking stream of a device for a scope, which nobody else uses or observes.
class PrivateStream {
 public:
  explicit PrivateStream(const CudaDevice& device) : device_(device) {
    const CurrentContext current(device.driver(), device.context());
    check(device.driver().cuStreamCreate(&stream_, cuda::stream_non_blocking), "cuStreamCreate");
  }
  ~PrivateStream() {
    give_back("a stream", [&] {
      const CurrentContext current(device_.driver(), device_.context());
      check(device_.driver().cuStreamDestroy(stream_), "cuStreamDestroy");
    });
  }
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;
  PrivateStream(PrivateStream&&) = delete;
  PrivateStream& operator=(PrivateStream&&) = delete;

  Stream handle() const { return reinterpret_cast<Stream>(stream_); }

 private:
  const CudaDevice& device_;
  cuda::Stream stream_ = nullptr;
};

}  // namespace mgemm
