#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "device/device.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm {
namespace {

constexpr std::align_val_t allocation_alignment{256};

void* host(std::uint64_t address) { return reinterpret_cast<void*>(address); }

class ReferenceDevice final : public Device {
 public:
  ReferenceDevice(std::int32_t profile, int threads) : isa_(best_isa()), threads_(threads) {
    facts_.kind = MGEMM_DEVICE_REFERENCE;
    facts_.compute_major = profile / 10;
    facts_.compute_minor = profile % 10;
    facts_.multiprocessors = threads > 0 ? threads : default_threads();
    facts_.name = "reference";
  }

  const DeviceFacts& facts() const override { return facts_; }

  void check_stream(Stream stream) override {
    if (stream != 0) {
      fail(MGEMM_UNSUPPORTED, "stream is {:#x}; the reference device has only stream 0, which runs at once", stream);
    }
  }
  bool is_capturing(Stream) override { return false; }
  void wait(Stream, Stream awaited) override { check_stream(awaited); }
  void synchronize(Stream) override {}

  void check_memory(const char*, std::uint64_t) override {}

  std::uint64_t allocate(std::int64_t bytes) override {
    void* const memory = ::operator new(static_cast<size_t>(bytes), allocation_alignment, std::nothrow);
    if (memory == nullptr) fail(MGEMM_OUT_OF_MEMORY, "{} bytes of host memory could not be allocated", bytes);
    return reinterpret_cast<std::uint64_t>(memory);
  }
  void release(std::uint64_t address) override { ::operator delete(host(address), allocation_alignment); }

  void upload(std::uint64_t destination, const void* source, std::int64_t bytes, Stream) override {
    std::memmove(host(destination), source, static_cast<size_t>(bytes));
  }
  void download(void* destination, std::uint64_t source, std::int64_t bytes, Stream) override {
    std::memmove(destination, host(source), static_cast<size_t>(bytes));
  }
  void download_elements(void* destination, std::uint64_t source, std::int64_t size, std::int64_t stride,
                         std::int64_t count, Stream) override {
    auto* const elements = static_cast<std::byte*>(destination);
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(elements + size * i, host(source + static_cast<std::uint64_t>(i * stride)),
                  static_cast<size_t>(size));
    }
  }
  void copy(std::uint64_t destination, std::uint64_t source, std::int64_t bytes, Stream) override {
    std::memmove(host(destination), host(source), static_cast<size_t>(bytes));
  }
  void fill_words(std::uint64_t destination, std::uint32_t word, std::int64_t count, Stream) override {
    std::fill_n(static_cast<std::uint32_t*>(host(destination)), count, word);
  }

  void enqueue(const Work& work, Stream stream) override {
    check_stream(stream);
    const auto* const product = std::get_if<HostProduct>(&work);
    if (product == nullptr) return;
    evaluate(evaluator_input(product->problem, product->contract, product->operands), isa_, threads_);
  }

 private:
  DeviceFacts facts_;
  Isa isa_;
  int threads_;
};

}  // namespace

std::unique_ptr<Device> make_reference_device(std::int32_t profile, int threads) {
  return std::make_unique<ReferenceDevice>(profile, threads);
}

}  // namespace mgemm
