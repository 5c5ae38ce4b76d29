// A ring of stages in shared memory. Two barriers hand a stage over: it has arrived, and it has been left.
#pragma once
#include "mbarrier.cuh"

namespace mgemm_kernel {

// Walks round the stages. `barriers` is the address of their barriers, 16 bytes a stage; the parity is that of the
// phase in which a stage is filled.
template <int STAGES>
struct StageTurn {
  unsigned barriers;
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ unsigned arrived() const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned left() const { return arrived() + 8; }
  __device__ __forceinline__ void advance(int count = 1) {
    stage += count;
    if (stage >= STAGES) {
      stage -= STAGES;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void skip(unsigned count) {
    const unsigned next = stage + count;
    stage = static_cast<int>(next % STAGES);
    parity ^= next / STAGES % 2;
  }
};

}  // namespace mgemm_kernel
