#pragma once
#include <cstdint>
#include <stdexcept>

namespace mgemm::host {

/// An mbarrier. `phase` is the number of the one that goes on.
struct Barrier {
  std::uint32_t arrivals = 0, pending = 0, phase = 0;
  std::int64_t bytes = 0;  // to come; less than none while they are not announced

  void arrive(std::int64_t expected = 0) {
    if (pending == 0) throw std::logic_error("more arrivals at a barrier than it was made for");
    --pending;
    complete(-expected);
  }
  void complete(std::int64_t come) {
    bytes -= come;
    if (pending != 0 || bytes != 0) return;
    pending = arrivals;
    ++phase;
  }
  bool has_passed(std::uint32_t parity) const { return (phase & 1U) != parity; }
};

}  // namespace mgemm::host
