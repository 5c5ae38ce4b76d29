// cp.async: copies from global to shared memory that do not pass through registers (PTX ISA, "cp.async"; sm_80).
#pragma once
#include "shared_memory.cuh"

namespace mgemm_kernel {

// Copies `valid` bytes (0 .. BYTES) and fills the rest of the BYTES with zeros; `valid` = 0 does not touch `source`.
template <int BYTES>
__device__ __forceinline__ void cp_async(unsigned destination, const void* source, int valid) {
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(valid)
                 : "memory");
  } else {
    static_assert(BYTES == 4 || BYTES == 8, "cp.async copies 4, 8 or 16 bytes");
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(destination), "l"(source), "r"(valid), "n"(BYTES)
                 : "memory");
  }
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of the newest groups are still in flight.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

}  // namespace mgemm_kernel
