// A hardware barrier at which some warps of a thread block arrive and go on, and others wait (PTX ISA, "bar"; number 1,
// for __syncthreads() is 0). What those who arrive wrote before is seen by those who waited. Once in a kernel.
#pragma once

namespace mgemm_kernel {

// THREADS is how many arrive and wait, all lanes of whole warps.
template <int THREADS>
__device__ __forceinline__ void hand_over() {
  asm volatile("bar.arrive 1, %0;" ::"n"(THREADS) : "memory");
}
template <int THREADS>
__device__ __forceinline__ void wait_for_hand_over() {
  asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

}  // namespace mgemm_kernel
