#pragma once
#include <chrono>
#include <cstdint>
#include <functional>

#include <sys/types.h>

#include "cache/directory.hpp"
#include "cache/entry.hpp"
#include "cache/os.hpp"

namespace mgemm {

/// The right to make one entry, among all processes that use a directory: a lock on one byte of its lock file, at an
/// offset that depends on key and kind. It belongs to the open file, so it excludes threads as well, and the system
/// drops it when its holder dies, unless a child that the holder forked keeps the file open.
class KeyLock {
 public:
  enum class State : std::uint8_t {
    held,
    timed_out,    // another has held it for as long as we wait
    unavailable,  // the file system gives no locks, or no lock file
    not_needed,   // `is_done` said so
  };

  /// Waits at most `bound`, with growing pauses; asks `is_done` after each.
  KeyLock(const PrivateDirectory& directory, const Digest& key, Kind kind, std::chrono::milliseconds bound,
          const std::function<bool()>& is_done);
  ~KeyLock();
  KeyLock(const KeyLock&) = delete;
  KeyLock& operator=(const KeyLock&) = delete;
  KeyLock(KeyLock&&) = delete;
  KeyLock& operator=(KeyLock&&) = delete;

  State state() const noexcept { return state_; }

 private:
  State acquire(const PrivateDirectory& directory, std::chrono::milliseconds bound,
                const std::function<bool()>& is_done);

  Descriptor file_;
  off_t offset_;
  std::uint32_t fork_generation_;
  State state_;
};

}  // namespace mgemm
