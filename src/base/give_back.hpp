#pragma once
#include "base/error.hpp"
#include "base/log.hpp"

namespace mgemm {

/// Runs a part of giving `what` back, for destructors: nobody can act on its failure any more, so the log tells of it.
/// Not of a lost device, with which all is gone and whose error is already on its way.
template <typename Call>
void give_back(const char* what, Call call) noexcept {
  try {
    call();
  } catch (const Error& error) {
    if (error.status() != MGEMM_DEVICE_LOST) log(MGEMM_LOG_WARN, "while giving back {}: {}", what, error.what());
  } catch (...) {
    log(MGEMM_LOG_WARN, "{} could not be given back", what);
  }
}

}  // namespace mgemm
