// Tensor-core products of one warp, and the loads that go with them (PTX ISA: "mma", "ldmatrix"; sm_80). A lane is g =
// lane / 4 and q = lane % 4.
#pragma once
#include "gemm_params.h"
#include "shared_memory.cuh"

namespace mgemm_kernel {

// d += a b with a 16x16, b 16x8 and d 16x8, one fused sum of 16 products an element. Of a lane: a[0], a[1] are rows g
// and g + 8 at steps 2q and 2q + 1, a[2] and a[3] the same at steps 8 higher; b0 and b1 are column g at those steps;
// d[0], d[1] are row g at columns 2q and 2q + 1, d[2] and d[3] row g + 8.
template <int TYPE>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (TYPE == BF16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(TYPE == F16, "bf16 or f16");
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// The same for TF32, one fused sum of 8 products an element: a[0], a[1] are rows g and g + 8 at step q, a[2] and a[3]
// the same at step q + 4; b0 and b1 are column g at those steps. Elements are f32 words whose lowest 13 bits are 0.
__device__ __forceinline__ void mma_m16n8k8(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int TYPE>
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if constexpr (TYPE == TF32) {
    mma_m16n8k8(d, a, b0, b1);
  } else {
    mma_m16n8k16<TYPE>(d, a, b0, b1);
  }
}

// COUNT (2 or 4) 8x8 matrices of 16-bit elements from shared memory: lane l gives the address of row l % 8 of matrix
// l / 8, and gets of each matrix the elements (g, 2q) and (g, 2q + 1), or, transposed, (2q, g) and (2q + 1, g).
template <int COUNT, bool TRANSPOSED>
__device__ __forceinline__ void ldmatrix(unsigned (&values)[4], unsigned address) {
  static_assert(COUNT == 2 || COUNT == 4, "of those that there are");
  if constexpr (COUNT == 4 && TRANSPOSED) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "r"(address)
                 : "memory");
  } else if constexpr (COUNT == 4) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
                 : "r"(address)
                 : "memory");
  } else if constexpr (TRANSPOSED) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(values[0]), "=r"(values[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(values[0]), "=r"(values[1])
                 : "r"(address)
                 : "memory");
  }
}

}  // namespace mgemm_kernel
