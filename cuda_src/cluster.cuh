// Thread blocks that run at the same time and reach each other's shared memory (PTX ISA, "clusters"; sm_90).
#pragma once

namespace mgemm_kernel {

// This thread block's place in its cluster, and how many there are.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

// Waits for all threads of all blocks; what they wrote before is seen after.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// The address of a block's shared memory that is `shared` in its own.
__device__ __forceinline__ unsigned address_in_block(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

// Arrives at the barrier of a block that is at `barrier` in its shared memory.
__device__ __forceinline__ void barrier_arrive_in_block(unsigned barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address_in_block(barrier, rank)) : "memory");
}

// 16 bytes of a block's shared memory that are at `shared` in its own.
template <class FOUR>
__device__ __forceinline__ FOUR load_in_block(unsigned shared, unsigned rank) {
  FOUR four;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.at[0]), "=f"(four.at[1]), "=f"(four.at[2]), "=f"(four.at[3])
               : "r"(address_in_block(shared, rank))
               : "memory");
  return four;
}

}  // namespace mgemm_kernel
