#include "cache/key_lock.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>

#include "base/fork.hpp"
#include "base/log.hpp"
#include "cache/counters.hpp"
#include "cache/names.hpp"

namespace mgemm {
namespace {

/// Less than 2^59, which every file system can lock.
off_t offset_of(const Digest& key, Kind kind) {
  std::uint64_t number = 0;
  constexpr size_t bytes_used = 7;
  for (size_t i = 0; i < bytes_used; ++i) number = number << 8U | key.bytes.at(i);
  static_assert(kind_count <= 8);
  return static_cast<off_t>(number << 3U | index_of(kind));
}

os::Opened open_lock_file(const PrivateDirectory& directory) {
  constexpr mode_t private_file = S_IRUSR | S_IWUSR;
  os::Opened lock = os::open_at(directory.descriptor(), std::string(lock_file_name),
                                O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, private_file);
  struct stat status {};
  if (lock.file && os::status_of(lock.file.get(), status) == 0 &&
      (status.st_mode & os::permission_bits) != private_file) {
    os::change_mode(lock.file.get(), private_file);  // the umask took bits away that others who come later need
  }
  return lock;
}

bool was_removed(const Descriptor& file) {
  struct stat status {};
  return os::status_of(file.get(), status) == 0 && status.st_nlink == 0;
}

}  // namespace

KeyLock::KeyLock(const PrivateDirectory& directory, const Digest& key, Kind kind, std::chrono::milliseconds bound,
                 const std::function<bool()>& is_done)
    : offset_(offset_of(key, kind)), fork_generation_(fork_generation()), state_(acquire(directory, bound, is_done)) {
  if (state_ == State::timed_out) {
    count(live_cache_counters().lock_timeouts);
    log(MGEMM_LOG_WARN, "another process has been making cache entry {} for {} s; making it here too",
        entry_name(key, kind), std::chrono::duration<double>(bound).count());
  }
  if (state_ == State::unavailable) count(live_cache_counters().lock_failures);
}

KeyLock::~KeyLock() {
  // Said, not left to the closing of the file: a child that was forked meanwhile has it open too. Such a child, when it
  // comes here itself, must leave its parent's lock alone.
  if (state_ == State::held && fork_generation_ == fork_generation()) os::unlock(file_.get(), offset_, 1);
}

KeyLock::State KeyLock::acquire(const PrivateDirectory& directory, std::chrono::milliseconds bound,
                                const std::function<bool()>& is_done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + bound;
  constexpr std::chrono::milliseconds longest_pause{100};
  std::chrono::milliseconds pause{1};
  bool has_waited = false;
  for (;;) {
    if (!file_) file_ = open_lock_file(directory).file;
    if (!file_) return State::unavailable;
    const int error = os::try_lock(file_.get(), offset_, 1);
    if (error == 0 && !was_removed(file_)) return State::held;
    if (error != 0 && error != EAGAIN) return State::unavailable;
    if (Clock::now() >= end) return State::timed_out;
    if (error == 0) {  // somebody has deleted the file, so that others lock another one
      file_.reset();
      continue;
    }
    if (!has_waited) {
      has_waited = true;
      count(live_cache_counters().waits_for_processes);
      log(MGEMM_LOG_INFO, "waiting for another process that makes the same entry of the cache in {}", directory.path());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    std::this_thread::sleep_for(std::min(pause, left));  // not at all if negative
    pause = std::min(pause + pause / 2 + std::chrono::milliseconds(1), longest_pause);
    if (is_done()) return State::not_needed;
  }
}

}  // namespace mgemm
