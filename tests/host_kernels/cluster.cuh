// Takes the place of cuda_src/cluster.cuh on the host.
#pragma once
#include "shared_memory.cuh"

namespace mgemm_kernel {

inline unsigned cluster_rank() { return mgemm::host::cluster_rank(); }
inline unsigned cluster_size() { return mgemm::host::cluster_size(); }
inline void cluster_sync() { mgemm::host::sync_cluster(); }
inline unsigned address_in_block(unsigned shared, unsigned rank) { return mgemm::host::address_in_block(shared, rank); }

inline void barrier_arrive_in_block(unsigned barrier, unsigned rank) {
  mgemm::host::arrive(address_in_block(barrier, rank));
}

template <class VALUE>
VALUE load_in_block(unsigned shared, unsigned rank) {
  VALUE value{};
  mgemm::host::read_shared(address_in_block(shared, rank), &value, sizeof value);
  return value;
}
inline float2 load_pair_in_block(unsigned shared, unsigned rank) { return load_in_block<float2>(shared, rank); }

}  // namespace mgemm_kernel
