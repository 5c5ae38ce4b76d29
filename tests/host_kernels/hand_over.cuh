// Takes the place of cuda_src/hand_over.cuh on the host.
#pragma once
#include "host_kernels/block.hpp"

namespace mgemm_kernel {

template <int THREADS>
void hand_over() {
  mgemm::host::arrive_at_hand_over(THREADS);
}
template <int THREADS>
void wait_for_hand_over() {
  mgemm::host::arrive_at_hand_over(THREADS);
  mgemm::host::wait_for_hand_over();
}

}  // namespace mgemm_kernel
