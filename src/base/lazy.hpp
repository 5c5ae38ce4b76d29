#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/per_process.hpp"

namespace mgemm {

/// A value made at first use and never destroyed. Unlike a function-local static it has no guard, so the child of a
/// fork that came while another thread was making it does not wait for that thread: both make one, and the first to
/// finish stays. Must have static storage.
template <typename T>
class Lazy {
 public:
  constexpr Lazy() noexcept = default;

  /// The value if it was made already, else nullptr.
  T* peek() const noexcept { return value_.load(std::memory_order_acquire); }

  template <typename Make>
  T& get(Make&& make) {
    T* existing = value_.load(std::memory_order_acquire);
    if (existing != nullptr) return *existing;
    std::unique_ptr<T> mine(new T(make()));  // T need not be movable
    if (value_.compare_exchange_strong(existing, mine.get(), std::memory_order_acq_rel)) return *mine.release();
    return *existing;
  }

 private:
  std::atomic<T*> value_{nullptr};
};

/// The same for what is dear to make: threads of one process wait for the one that makes it. The child of a fork does
/// not wait for its parent's.
template <typename T>
class SharedLazy {
 public:
  T* peek() const noexcept { return value_.peek(); }

  template <typename Make>
  T& get(Make&& make) {
    if (T* const made = value_.peek()) return *made;
    const std::lock_guard lock(making_.get());
    return value_.get(std::forward<Make>(make));  // which is there already if this thread had to wait
  }

 private:
  Lazy<T> value_;
  PerProcess<std::mutex> making_;
};

}  // namespace mgemm
