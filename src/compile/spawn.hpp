#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/descriptor.hpp"

namespace mgemm {

/// A process of ours, which does not outlive the object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() { stop(std::chrono::milliseconds(0)); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;

  /// Whether it has ended by itself; does not wait.
  bool ended();
  /// Waits so long for it to end by itself, then kills it; reaped in either case.
  void stop(std::chrono::milliseconds patience) noexcept;
  /// How it ended, once it has: "was killed by SIGSEGV".
  std::string ending() const;
  /// Whether a fault of its own ended it, or abort().
  bool crashed() const;

 private:
  bool reap(int flags) noexcept;

  pid_t pid_;
  bool gone_ = false;
  bool killed_ = false;             // by us
  std::optional<int> wait_status_;  // none if the host took it, or ignores SIGCHLD
};

struct SpawnedProgram {
  Child child;
  Descriptor input;   // a socket: writing to it raises no SIGPIPE if so asked
  Descriptor output;  // these three do not block
  Descriptor errors;
};

/// Starts a program without arguments. MGEMM_COMPILE if it cannot be.
SpawnedProgram spawn(const std::string& program);

}  // namespace mgemm
