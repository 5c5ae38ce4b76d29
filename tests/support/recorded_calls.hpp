// The operating system's calls as the cache makes them, written down; a test may answer for the system.
#pragma once
#include <fcntl.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cache/names.hpp"
#include "cache/os.hpp"

namespace mgemm::test {

/// One call; what it does not have is 0 or "".
struct OsCall {
  std::string what;  // as in os::Calls
  int file = -1;     // or directory
  std::string name{};
  std::string to{};
  int flags = 0;  // of set_lock: its type
  mode_t mode = 0;
  std::int64_t result = 0;
};

/// In force as long as the object lives; one at a time.
class RecordedCalls {
 public:
  /// The errno that a call is to fail with, 0 to let it through. Any thread.
  using Answer = std::function<int(const OsCall& call)>;

  explicit RecordedCalls(Answer answer = {}) {
    state().made.clear();
    state().answer = std::move(answer);
    os::set_calls(&table);
  }
  ~RecordedCalls() { os::set_calls(nullptr); }
  RecordedCalls(const RecordedCalls&) = delete;
  RecordedCalls& operator=(const RecordedCalls&) = delete;
  RecordedCalls(RecordedCalls&&) = delete;
  RecordedCalls& operator=(RecordedCalls&&) = delete;

  static std::vector<OsCall> made() {
    const std::lock_guard lock(state().mutex);
    return state().made;
  }

 private:
  struct State {
    std::mutex mutex;
    std::vector<OsCall> made;
    Answer answer;
  };
  static State& state() {
    static State state;
    return state;
  }
  template <typename Real>
  static auto recorded(OsCall call, Real real) -> decltype(real(os::real_calls())) {
    using Result = decltype(real(os::real_calls()));
    const int error = state().answer ? state().answer(call) : 0;
    const Result result = error != 0 ? static_cast<Result>(-error) : real(os::real_calls());
    call.result = result;
    const std::lock_guard lock(state().mutex);
    state().made.push_back(std::move(call));
    return result;
  }

  static constexpr os::Calls table{
      .realpath =
          [](const char* path, char* resolved) {
            return recorded({.what = "realpath", .name = path},
                            [&](const os::Calls& r) { return r.realpath(path, resolved); });
          },
      .openat =
          [](int d, const char* n, int f, mode_t m) {
            return recorded({.what = "openat", .file = d, .name = n, .flags = f, .mode = m},
                            [&](const os::Calls& r) { return r.openat(d, n, f, m); });
          },
      .mkdirat =
          [](int d, const char* n, mode_t m) {
            return recorded({.what = "mkdirat", .file = d, .name = n, .mode = m},
                            [&](const os::Calls& r) { return r.mkdirat(d, n, m); });
          },
      .fstat =
          [](int f, struct stat* s) {
            return recorded({.what = "fstat", .file = f}, [&](const os::Calls& r) { return r.fstat(f, s); });
          },
      .fstatat =
          [](int d, const char* n, struct stat* s) {
            return recorded({.what = "fstatat", .file = d, .name = n},
                            [&](const os::Calls& r) { return r.fstatat(d, n, s); });
          },
      .fchmod =
          [](int f, mode_t m) {
            return recorded({.what = "fchmod", .file = f, .mode = m},
                            [&](const os::Calls& r) { return r.fchmod(f, m); });
          },
      .fchmodat =
          [](int d, const char* n, mode_t m) {
            return recorded({.what = "fchmodat", .file = d, .name = n, .mode = m},
                            [&](const os::Calls& r) { return r.fchmodat(d, n, m); });
          },
      .getxattr =
          [](const char* path, const char* name) {
            return recorded({.what = "getxattr", .name = path},
                            [&](const os::Calls& r) { return r.getxattr(path, name); });
          },
      .getrlimit =
          [](int resource, struct rlimit* limit) {
            return recorded({.what = "getrlimit"}, [&](const os::Calls& r) { return r.getrlimit(resource, limit); });
          },
      .read =
          [](int f, void* b, size_t c) {
            return recorded({.what = "read", .file = f}, [&](const os::Calls& r) { return r.read(f, b, c); });
          },
      .write =
          [](int f, const void* b, size_t c) {
            return recorded({.what = "write", .file = f}, [&](const os::Calls& r) { return r.write(f, b, c); });
          },
      .fsync =
          [](int f) { return recorded({.what = "fsync", .file = f}, [&](const os::Calls& r) { return r.fsync(f); }); },
      .renameat =
          [](int d, const char* from, const char* to) {
            return recorded({.what = "renameat", .file = d, .name = from, .to = to},
                            [&](const os::Calls& r) { return r.renameat(d, from, to); });
          },
      .unlinkat =
          [](int d, const char* n, int f) {
            return recorded({.what = "unlinkat", .file = d, .name = n, .flags = f},
                            [&](const os::Calls& r) { return r.unlinkat(d, n, f); });
          },
      .set_lock =
          [](int f, short t, off_t s, off_t l) {
            return recorded({.what = "set_lock", .file = f, .flags = t},
                            [&](const os::Calls& r) { return r.set_lock(f, t, s, l); });
          },
      .touch =
          [](int f) { return recorded({.what = "touch", .file = f}, [&](const os::Calls& r) { return r.touch(f); }); },
      .getdents =
          [](int d, void* b, size_t c) {
            return recorded({.what = "getdents", .file = d}, [&](const os::Calls& r) { return r.getdents(d, b, c); });
          },
  };
};

/// The making of a temporary.
inline bool is_creation(const OsCall& call) {
  return call.what == "openat" && (call.flags & O_CREAT) != 0 && is_temporary_name(call.name);
}

}  // namespace mgemm::test
