// Takes the place of cuda_src/wgmma.cuh on the host. Products are computed when they are asked for, when they are
// waited for, or in between.
#pragma once
#include "gemm_params.h"
#include "host_kernels/wgmma.hpp"

namespace mgemm_kernel {

template <int LINE_BYTES>
unsigned long long matrix_descriptor(unsigned address, unsigned leading, unsigned stride) {
  static_assert(LINE_BYTES == 128 || LINE_BYTES == 64 || LINE_BYTES == 32, "permuted lines");
  constexpr unsigned long long kSwizzle = LINE_BYTES == 128 ? 1 : LINE_BYTES == 64 ? 2 : 3;
  return kSwizzle << 62 | static_cast<unsigned long long>(stride / 16) << 32 |
         static_cast<unsigned long long>(leading / 16) << 16 | (address & 0x3ffff) / 16;
}

inline void wgmma_fence() { mgemm::host::fence_products(); }
inline void wgmma_commit() { mgemm::host::commit_products(); }
template <int PENDING>
void wgmma_wait() {
  mgemm::host::wait_for_products(PENDING);
}

template <int COUNT>
void claim_registers() {}
template <int COUNT>
void give_up_registers() {}

template <int TYPE, int COLUMNS, bool A_TRANSPOSED, bool B_TRANSPOSED>
void wgmma(float (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b) {
  static_assert(TYPE == BF16 || TYPE == F16 || (TYPE == TF32 && !A_TRANSPOSED && !B_TRANSPOSED), "what there is");
  static_assert(COLUMNS % 16 == 0 && COLUMNS <= 256, "a width that there is a text for");
  mgemm::host::start_product({static_cast<mgemm::Type>(TYPE), COLUMNS, A_TRANSPOSED, B_TRANSPOSED}, a, b, d);
}

template <int COLUMNS>
void wgmma(float (&d)[COLUMNS / 2], const unsigned (&a)[4], unsigned long long b) {
  static_assert(COLUMNS % 16 == 0 && COLUMNS <= 256, "a width that there is a text for");
  mgemm::host::start_product({mgemm::Type::tf32, COLUMNS, false, false}, a, b, d);
}

}  // namespace mgemm_kernel
