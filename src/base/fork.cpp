#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace mgemm {
namespace {

std::atomic<std::uint32_t> generation{0};

void on_child() { generation.fetch_add(1, std::memory_order_relaxed); }

// Registered when the library is loaded. glibc ties the handler to the library, which is linked -z nodelete.
const int registered = pthread_atfork(nullptr, nullptr, on_child);

}  // namespace

std::uint32_t fork_generation() noexcept {
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace mgemm
