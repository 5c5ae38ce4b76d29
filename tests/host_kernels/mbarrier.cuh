// Takes the place of cuda_src/mbarrier.cuh on the host. Arrivals that follow copies come by chance, or as late as they
// can: when nothing else can go on.
#pragma once
#include "host_kernels/block.hpp"

namespace mgemm_kernel {

inline void barrier_init(unsigned barrier, unsigned arrivals) { mgemm::host::init_barrier(barrier, arrivals); }
inline void barrier_arrive(unsigned barrier) { mgemm::host::arrive(barrier); }
inline void barrier_arrive_after_copies(unsigned barrier) { mgemm::host::arrive_after_copies(barrier); }
inline bool barrier_test(unsigned barrier, unsigned parity) { return mgemm::host::has_passed(barrier, parity); }
inline void barrier_wait(unsigned barrier, unsigned parity) { mgemm::host::wait_for_barrier(barrier, parity); }

}  // namespace mgemm_kernel
