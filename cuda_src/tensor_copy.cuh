// The copy engine: boxes of a tensor in global memory into shared memory, started by one thread (PTX ISA,
// "cp.async.bulk.tensor"; sm_90). A barrier (mbarrier.cuh) learns of the bytes.
#pragma once
#include "gemm_params.h"

namespace mgemm_kernel {

// What kernels with and without tensor maps have in common.
__device__ __forceinline__ const GemmParams& gemm_of(const GemmParams& p) { return p; }
__device__ __forceinline__ const GemmParams& gemm_of(const TensorParams& p) { return p.gemm; }

// Arrives at a barrier whose phase then ends no sooner than so many bytes have come.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile(
      "{\n"
      ".reg .b64 state;\n"
      "mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n"
      "}" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}

// The engine may use barriers that this thread has made.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// The box at (inner, outer), of the map's size and permutation, to an address in shared memory.
__device__ __forceinline__ void tensor_load(const TensorMap& map, unsigned destination, unsigned barrier, int inner,
                                            int outer) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer)
      : "memory");
}

// The same, to the same address in every thread block of the cluster whose bit is set in `blocks`; their barriers at
// the same address learn of it.
__device__ __forceinline__ void tensor_load_for_all(const TensorMap& map, unsigned destination, unsigned barrier,
                                                    int inner, int outer, unsigned blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

// The box at (inner, outer) from an address in shared memory, where the map's permutation is undone; what lies outside
// the tensor is not written. What was written there must have been published by those who did.
__device__ __forceinline__ void tensor_store(const TensorMap& map, unsigned source, int inner, int outer) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(source), "r"(inner), "r"(outer)
               : "memory");
}
// Makes a group of the stores that this thread has started.
__device__ __forceinline__ void stores_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until all but the newest PENDING of this thread's groups have been read from shared memory.
template <int PENDING>
__device__ __forceinline__ void stores_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
// The engine sees what this thread has written to shared memory.
__device__ __forceinline__ void publish_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A hint that what lies at an address in global memory will be read: brings it into L2.
__device__ __forceinline__ void prefetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

// A hint that the map will be needed.
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

}  // namespace mgemm_kernel
