// Silence for a scope.
#pragma once
#include "base/log.hpp"

namespace mgemm::test {

/// Switches the log off, which would otherwise tell of every failure.
struct Quiet {
  Quiet() { set_log(MGEMM_LOG_OFF, nullptr, nullptr); }
  ~Quiet() { set_log(MGEMM_LOG_WARN, nullptr, nullptr); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  Quiet(Quiet&&) = delete;
  Quiet& operator=(Quiet&&) = delete;
};

}  // namespace mgemm::test
