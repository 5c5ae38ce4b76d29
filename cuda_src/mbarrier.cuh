// Barriers in shared memory that some threads arrive at and others wait for (PTX ISA, "mbarrier"; sm_80). Each is 8
// bytes at an address in shared memory. Its phases are numbered from 0, and one ends when all arrivals it was made for
// have come.
#pragma once

namespace mgemm_kernel {

__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// What this thread wrote and read before is done for whoever waits for the phase.
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 state;\n"
      "mbarrier.arrive.shared.b64 state, [%0];\n"
      "}" ::"r"(barrier)
      : "memory");
}

// Arrives when the copies (cp.async) that this thread has started are done; does not wait.
__device__ __forceinline__ void barrier_arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Whether the latest phase whose number has this parity has ended. Does not wait.
__device__ __forceinline__ bool barrier_test(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "mbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n"
      "selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Waits for the end of the latest phase whose number has this parity.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  // The hardware puts the thread to sleep for a while.
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#else
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}

}  // namespace mgemm_kernel
