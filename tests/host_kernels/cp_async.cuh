// Takes the place of cuda_src/cp_async.cuh on the host. A copy is made as late as the kernel allows: when it is waited
// for. One that nobody waits for is never made.
#pragma once
#include "host_kernels/block.hpp"
#include "shared_memory.cuh"

namespace mgemm_kernel {

template <int BYTES>
void cp_async(unsigned destination, const void* source, int valid) {
  static_assert(BYTES == 16 || BYTES == 8 || BYTES == 4);
  mgemm::host::start_copy(destination, source, BYTES, valid);
}
inline void cp_async_commit() { mgemm::host::commit_copies(); }
template <int PENDING>
void cp_async_wait() {
  mgemm::host::wait_for_copies(PENDING);
}

}  // namespace mgemm_kernel
