// The operating system's calls as the cache makes them, of which one can be made to fail.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "cache/os.hpp"

namespace mgemm::test {

/// In force as long as the object lives; one at a time.
class FaultyCalls {
 public:
  struct Plan {
    std::int64_t failing = 0;  // the number of the call that fails, from 1; 0: none
    int error = 0;
    bool for_ever = false;                                     // and all after it
    size_t most_at_once = std::numeric_limits<size_t>::max();  // bytes that one read or write takes
    bool without_sync = false;                                 // fsync does nothing, for tests that write a lot
  };

  explicit FaultyCalls(const Plan& plan) {
    state() = plan;
    made() = 0;
    os::set_calls(&table);
  }
  ~FaultyCalls() { os::set_calls(nullptr); }
  FaultyCalls(const FaultyCalls&) = delete;
  FaultyCalls& operator=(const FaultyCalls&) = delete;
  FaultyCalls(FaultyCalls&&) = delete;
  FaultyCalls& operator=(FaultyCalls&&) = delete;

  static std::int64_t calls_made() { return made(); }

 private:
  static Plan& state() {
    static Plan plan;
    return plan;
  }
  static std::atomic<std::int64_t>& made() {
    static std::atomic<std::int64_t> number{0};
    return number;
  }
  static bool fails() {
    const std::int64_t number = ++made();
    const Plan& plan = state();
    return plan.failing != 0 && (number == plan.failing || (plan.for_ever && number > plan.failing));
  }
  template <typename Call>
  static auto either(Call call) -> decltype(call(os::real_calls())) {
    if (fails()) return -state().error;
    return call(os::real_calls());
  }

  static constexpr os::Calls table{
      .realpath = [](const char* path,
                     char* resolved) { return either([&](const os::Calls& r) { return r.realpath(path, resolved); }); },
      .openat = [](int d, const char* n, int f,
                   mode_t m) { return either([&](const os::Calls& r) { return r.openat(d, n, f, m); }); },
      .mkdirat = [](int d, const char* n,
                    mode_t m) { return either([&](const os::Calls& r) { return r.mkdirat(d, n, m); }); },
      .fstat = [](int f, struct stat* s) { return either([&](const os::Calls& r) { return r.fstat(f, s); }); },
      .fstatat = [](int d, const char* n,
                    struct stat* s) { return either([&](const os::Calls& r) { return r.fstatat(d, n, s); }); },
      .fchmod = [](int f, mode_t m) { return either([&](const os::Calls& r) { return r.fchmod(f, m); }); },
      .fchmodat = [](int d, const char* n,
                     mode_t m) { return either([&](const os::Calls& r) { return r.fchmodat(d, n, m); }); },
      .getxattr = [](const char* path,
                     const char* name) { return either([&](const os::Calls& r) { return r.getxattr(path, name); }); },
      .getrlimit =
          [](int resource, struct rlimit* l) {
            return either([&](const os::Calls& r) { return r.getrlimit(resource, l); });
          },
      .read =
          [](int f, void* b, size_t c) {
            return either([&](const os::Calls& r) { return r.read(f, b, std::min(c, state().most_at_once)); });
          },
      .write =
          [](int f, const void* b, size_t c) {
            return either([&](const os::Calls& r) { return r.write(f, b, std::min(c, state().most_at_once)); });
          },
      .fsync = [](int f) { return either([&](const os::Calls& r) { return state().without_sync ? 0 : r.fsync(f); }); },
      .renameat = [](int d, const char* from,
                     const char* to) { return either([&](const os::Calls& r) { return r.renameat(d, from, to); }); },
      .unlinkat = [](int d, const char* n,
                     int f) { return either([&](const os::Calls& r) { return r.unlinkat(d, n, f); }); },
      .set_lock = [](int f, short t, off_t s,
                     off_t l) { return either([&](const os::Calls& r) { return r.set_lock(f, t, s, l); }); },
      .touch = [](int f) { return either([&](const os::Calls& r) { return r.touch(f); }); },
      .getdents = [](int d, void* b,
                     size_t c) { return either([&](const os::Calls& r) { return r.getdents(d, b, c); }); },
  };
};

}  // namespace mgemm::test
