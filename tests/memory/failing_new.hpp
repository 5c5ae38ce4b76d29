// Replaces operator new of this binary, which is also the one of the shared library, by one that can be made to fail.
#pragma once
#include <cstdint>

namespace mgemm::test {

/// Counts the calling thread's allocations from now on. The one after `successes` others fails; those after it have
/// memory again.
void fail_allocation_after(std::int64_t successes);

/// No allocation fails any more. How many there were since.
std::int64_t stop_failing();

}  // namespace mgemm::test
