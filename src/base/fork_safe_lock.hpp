#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

#include "base/fork.hpp"

namespace mgemm {

/// A lock for short critical sections that a fork cannot leave locked for ever: one taken under another fork generation
/// counts as free, because the thread that held it does not exist in this process. Works with std::lock_guard.
class ForkSafeLock {
 public:
  constexpr ForkSafeLock() noexcept = default;

  void lock() noexcept {
    const std::uint64_t mine = (std::uint64_t{fork_generation()} << 1U) | 1U;
    constexpr int spins_before_yield = 64;
    for (int spin = 0;; ++spin) {
      std::uint64_t seen = word_.load(std::memory_order_relaxed);
      const bool is_free = seen != mine;
      if (is_free && word_.compare_exchange_weak(seen, mine, std::memory_order_acquire)) return;
      if (spin >= spins_before_yield) std::this_thread::yield();
    }
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace mgemm
