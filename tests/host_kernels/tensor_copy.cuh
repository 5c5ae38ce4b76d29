// Takes the place of cuda_src/tensor_copy.cuh on the host. Boxes come and go by chance, or as late as they can.
#pragma once
#include <bit>

#include "gemm_params.h"
#include "host_kernels/block.hpp"

namespace mgemm_kernel {

inline const GemmParams& gemm_of(const GemmParams& p) { return p; }
inline const GemmParams& gemm_of(const TensorParams& p) { return p.gemm; }
inline void barrier_expect(unsigned barrier, unsigned bytes) { mgemm::host::arrive_expecting(barrier, bytes); }
inline void publish_barriers() {}
inline void tensor_load(const TensorMap& map, unsigned destination, unsigned barrier, int inner, int outer) {
  mgemm::host::load_box(std::bit_cast<mgemm::test::HostTensorMap>(map), destination, barrier, inner, outer);
}
inline void tensor_load_for_all(const TensorMap& map, unsigned destination, unsigned barrier, int inner, int outer,
                                unsigned blocks) {
  mgemm::host::load_box_for_all(std::bit_cast<mgemm::test::HostTensorMap>(map), destination, barrier, inner, outer,
                                blocks);
}
inline void tensor_store(const TensorMap& map, unsigned source, int inner, int outer) {
  mgemm::host::store_box(std::bit_cast<mgemm::test::HostTensorMap>(map), source, inner, outer);
}
inline void stores_commit() { mgemm::host::commit_stores(); }
template <int PENDING>
void stores_wait() {
  mgemm::host::wait_for_stores(PENDING);
}
inline void publish_to_copies() { mgemm::host::publish_to_boxes(); }
inline void prefetch_line(const void*) {}
inline void tensor_prefetch(const TensorMap&) {}

}  // namespace mgemm_kernel
