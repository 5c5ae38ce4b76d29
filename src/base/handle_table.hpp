#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/fork_safe_lock.hpp"

namespace mgemm {

/// The kinds of object behind a handle; a handle is kind (8 bits), generation (32), index (24).
enum class HandleKind : std::uint8_t { context = 1, plan = 2, launch = 3 };

constexpr const char* name_of(HandleKind kind) {
  return kind == HandleKind::context ? "context" : kind == HandleKind::plan ? "plan" : "launch";
}

/// What is wrong with a handle that no slot carries.
[[noreturn]] void fail_bad_handle(HandleKind wanted, std::uint64_t handle);
[[noreturn]] void fail_forked(HandleKind kind, std::uint64_t handle);
[[noreturn]] void fail_busy(HandleKind kind, std::uint64_t handle);

/// Objects by handle. A slot is never freed, only used again under a new generation, so looking a handle up needs no
/// lock and a stale one is always recognised. Each slot admits one thread at a time: handle and "in use" are one atomic
/// word, so that a thread with a stale handle never stands in the way of the slot's new owner.
template <typename T, HandleKind kind>
class HandleTable {
  struct Slot {
    std::atomic<std::uint64_t> word{0};  // the handle, with in_use while a thread has it; 0 if the slot is free
    std::atomic<std::uint32_t> fork{0};
    std::uint32_t generation = 0;  // of the latest handle; guarded by the table's lock
    std::uint32_t next_free = 0;   // guarded by the table's lock
    T* object = nullptr;           // guarded by in_use
  };
  static constexpr std::uint64_t in_use = std::uint64_t{1} << 63U;

 public:
  constexpr HandleTable() noexcept = default;

  /// The sole right to use an object, until it goes out of scope.
  class Guard {
   public:
    Guard(Guard&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (slot_ != nullptr) slot_->word.fetch_and(~in_use, std::memory_order_release);
    }
    T* operator->() const { return slot_->object; }
    T& operator*() const { return *slot_->object; }

   private:
    friend HandleTable;
    explicit Guard(Slot* slot) : slot_(slot) {}
    Slot* slot_;
  };

  std::uint64_t insert(std::unique_ptr<T> object) {
    const std::lock_guard lock(lock_);
    const std::uint32_t index = take_free_index();
    Slot& slot = *slot_at(index);
    if (++slot.generation == 0) ++slot.generation;
    const std::uint64_t handle =
        (static_cast<std::uint64_t>(kind) << 56U) | (std::uint64_t{slot.generation} << 24U) | index;
    slot.object = object.release();
    slot.fork.store(fork_generation(), std::memory_order_relaxed);
    slot.word.store(handle, std::memory_order_release);
    return handle;
  }

  Guard lock(std::uint64_t handle) {
    Slot* const slot = find(handle);
    if (slot->fork.load(std::memory_order_relaxed) != fork_generation()) fail_forked(kind, handle);
    std::uint64_t seen = handle;
    if (!slot->word.compare_exchange_strong(seen, handle | in_use, std::memory_order_acquire)) {
      if (seen == (handle | in_use)) fail_busy(kind, handle);
      fail_bad_handle(kind, handle);
    }
    return Guard(slot);
  }

  /// Ends a handle; the object is the caller's to destroy.
  std::unique_ptr<T> remove(Guard guard) {
    Slot* const slot = std::exchange(guard.slot_, nullptr);
    std::unique_ptr<T> object(std::exchange(slot->object, nullptr));
    const std::uint64_t word = slot->word.exchange(0, std::memory_order_release);
    give_back(slot, word);
    return object;
  }

  /// Ends a handle of a parent process, and says whether it was one. Its object is given to `destroy`, unless a thread
  /// of the parent was in the middle of using it at the fork: then it is half changed, and left alone.
  template <typename Destroy>
  bool remove_if_forked(std::uint64_t handle, Destroy destroy) {
    Slot* const slot = find(handle);
    if (slot->fork.load(std::memory_order_relaxed) == fork_generation()) return false;
    std::uint64_t seen = handle;
    if (!slot->word.compare_exchange_strong(seen, 0, std::memory_order_acquire)) {
      const bool was_in_use =
          seen == (handle | in_use) && slot->word.compare_exchange_strong(seen, 0, std::memory_order_acquire);
      if (!was_in_use) fail_bad_handle(kind, handle);
      slot->object = nullptr;
    }
    if (const std::unique_ptr<T> object{std::exchange(slot->object, nullptr)}) destroy(*object);
    give_back(slot, handle);
    return true;
  }

 private:
  static constexpr std::uint32_t slots_per_chunk = 1024;
  static constexpr std::uint32_t chunk_count = (1U << 24U) / slots_per_chunk;

  Slot* slot_at(std::uint32_t index) const {
    Slot* const chunk = chunks_.at(index / slots_per_chunk).load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % slots_per_chunk;
  }

  Slot* find(std::uint64_t handle) const {
    Slot* const slot = handle >> 56U == static_cast<std::uint64_t>(kind) ? slot_at(handle & 0xffffffU) : nullptr;
    if (slot == nullptr || (slot->word.load(std::memory_order_acquire) & ~in_use) != handle) {
      fail_bad_handle(kind, handle);
    }
    return slot;
  }

  /// The slot is out of use and nobody's.
  void give_back(Slot* slot, std::uint64_t handle) {
    const std::lock_guard lock(lock_);
    slot->next_free = first_free_;
    first_free_ = static_cast<std::uint32_t>(handle & 0xffffffU) + 1;
  }

  /// The lock is held. Free slots are linked by index + 1; 0 is the end.
  std::uint32_t take_free_index() {
    if (first_free_ != 0) {
      const std::uint32_t index = first_free_ - 1;
      first_free_ = slot_at(index)->next_free;
      return index;
    }
    if (used_ == chunk_count * slots_per_chunk) fail(MGEMM_OUT_OF_MEMORY, "no more than {} handles may be open", used_);
    if (slot_at(used_) == nullptr) {
      chunks_.at(used_ / slots_per_chunk).store(new Slot[slots_per_chunk], std::memory_order_release);
    }
    return used_++;
  }

  ForkSafeLock lock_;
  std::uint32_t first_free_ = 0;
  std::uint32_t used_ = 0;
  std::array<std::atomic<Slot*>, chunk_count> chunks_{};
};

}  // namespace mgemm
