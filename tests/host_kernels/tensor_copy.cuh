// Takes the place of cuda_src/tensor_copy.cuh on the host. Boxes come by chance, or as late as they can.
#pragma once
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
inline void tensor_prefetch(const TensorMap&) {}

}  // namespace mgemm_kernel
