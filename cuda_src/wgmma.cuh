// The tensor cores' instruction for a warp group (PTX ISA, "wgmma"; sm_90a): both operands in shared memory, sums in
// registers. It runs on by itself: sums may be touched, and operands overwritten, only after a wait.
#pragma once
#include "gemm_params.h"

namespace mgemm_kernel {

// Describes an operand in shared memory, cut into panels of lines of LINE_BYTES that are permuted as the copy engine
// does it. `leading` and `stride` are bytes: from a panel to the next, and from 8 lines to the next 8.
template <int LINE_BYTES>
__device__ __forceinline__ unsigned long long matrix_descriptor(unsigned address, unsigned leading, unsigned stride) {
  static_assert(LINE_BYTES == 128 || LINE_BYTES == 64 || LINE_BYTES == 32, "permuted lines");
  constexpr unsigned long long kSwizzle = LINE_BYTES == 128 ? 1 : LINE_BYTES == 64 ? 2 : 3;
  return kSwizzle << 62 | static_cast<unsigned long long>(stride / 16) << 32 |
         static_cast<unsigned long long>(leading / 16) << 16 | (address & 0x3ffff) / 16;
}

// Registers and shared memory that this thread has written are seen by what it starts after this.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until all but the newest PENDING committed groups are done.
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// A warp group may have so many registers a thread from here on (PTX ISA, "setmaxnreg").
template <int COUNT>
__device__ __forceinline__ void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// One for every width.
template <int COLUMNS>
struct Wgmma;

// Assembler text cannot be made by a template: the names of registers by eights, and lists of them.
#define MGEMM_NAMES0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MGEMM_NAMES1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define MGEMM_NAMES2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define MGEMM_NAMES3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define MGEMM_NAMES4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define MGEMM_NAMES5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define MGEMM_NAMES6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define MGEMM_NAMES7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define MGEMM_NAMES8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define MGEMM_NAMES9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define MGEMM_NAMES10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define MGEMM_NAMES11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define MGEMM_NAMES12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define MGEMM_NAMES13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define MGEMM_NAMES14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define MGEMM_NAMES15 "%120, %121, %122, %123, %124, %125, %126, %127"
#define MGEMM_EIGHT(i)                                                                                                \
  "+f"(d[8 * i]), "+f"(d[8 * i + 1]), "+f"(d[8 * i + 2]), "+f"(d[8 * i + 3]), "+f"(d[8 * i + 4]), "+f"(d[8 * i + 5]), \
      "+f"(d[8 * i + 6]), "+f"(d[8 * i + 7])
#define MGEMM_LIST1 MGEMM_NAMES0
#define MGEMM_LIST2 MGEMM_LIST1 ", " MGEMM_NAMES1
#define MGEMM_LIST3 MGEMM_LIST2 ", " MGEMM_NAMES2
#define MGEMM_LIST4 MGEMM_LIST3 ", " MGEMM_NAMES3
#define MGEMM_LIST5 MGEMM_LIST4 ", " MGEMM_NAMES4
#define MGEMM_LIST6 MGEMM_LIST5 ", " MGEMM_NAMES5
#define MGEMM_LIST7 MGEMM_LIST6 ", " MGEMM_NAMES6
#define MGEMM_LIST8 MGEMM_LIST7 ", " MGEMM_NAMES7
#define MGEMM_LIST9 MGEMM_LIST8 ", " MGEMM_NAMES8
#define MGEMM_LIST10 MGEMM_LIST9 ", " MGEMM_NAMES9
#define MGEMM_LIST11 MGEMM_LIST10 ", " MGEMM_NAMES10
#define MGEMM_LIST12 MGEMM_LIST11 ", " MGEMM_NAMES11
#define MGEMM_LIST13 MGEMM_LIST12 ", " MGEMM_NAMES12
#define MGEMM_LIST14 MGEMM_LIST13 ", " MGEMM_NAMES13
#define MGEMM_LIST15 MGEMM_LIST14 ", " MGEMM_NAMES14
#define MGEMM_LIST16 MGEMM_LIST15 ", " MGEMM_NAMES15
#define MGEMM_SUMS1 MGEMM_EIGHT(0)
#define MGEMM_SUMS2 MGEMM_SUMS1, MGEMM_EIGHT(1)
#define MGEMM_SUMS3 MGEMM_SUMS2, MGEMM_EIGHT(2)
#define MGEMM_SUMS4 MGEMM_SUMS3, MGEMM_EIGHT(3)
#define MGEMM_SUMS5 MGEMM_SUMS4, MGEMM_EIGHT(4)
#define MGEMM_SUMS6 MGEMM_SUMS5, MGEMM_EIGHT(5)
#define MGEMM_SUMS7 MGEMM_SUMS6, MGEMM_EIGHT(6)
#define MGEMM_SUMS8 MGEMM_SUMS7, MGEMM_EIGHT(7)
#define MGEMM_SUMS9 MGEMM_SUMS8, MGEMM_EIGHT(8)
#define MGEMM_SUMS10 MGEMM_SUMS9, MGEMM_EIGHT(9)
#define MGEMM_SUMS11 MGEMM_SUMS10, MGEMM_EIGHT(10)
#define MGEMM_SUMS12 MGEMM_SUMS11, MGEMM_EIGHT(11)
#define MGEMM_SUMS13 MGEMM_SUMS12, MGEMM_EIGHT(12)
#define MGEMM_SUMS14 MGEMM_SUMS13, MGEMM_EIGHT(13)
#define MGEMM_SUMS15 MGEMM_SUMS14, MGEMM_EIGHT(14)
#define MGEMM_SUMS16 MGEMM_SUMS15, MGEMM_EIGHT(15)
#define MGEMM_WGMMA_TEXT(COLUMNS, STEPS, TYPE, LIST, A, B, REST)                                             \
  "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k" #STEPS ".f32." #TYPE "." #TYPE " {" LIST "}, " A ", %" #B \
  ", 1, 1, 1" REST ";"
#define MGEMM_WGMMA(COLUMNS, LIST, SUMS, N0, N1, N2, N3, N4)                                                          \
  template <>                                                                                                         \
  struct Wgmma<COLUMNS> {                                                                                             \
    template <int TYPE, bool A_TRANSPOSED, bool B_TRANSPOSED>                                                         \
    __device__ static __forceinline__ void run(float (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b) { \
      if constexpr (TYPE == BF16) {                                                                                   \
        asm volatile(MGEMM_WGMMA_TEXT(COLUMNS, 16, bf16, LIST, "%" #N0, N1, ", %" #N2 ", %" #N3)                      \
                     : SUMS                                                                                           \
                     : "l"(a), "l"(b), "n"(int(A_TRANSPOSED)), "n"(int(B_TRANSPOSED)));                               \
      } else if constexpr (TYPE == F16) {                                                                             \
        asm volatile(MGEMM_WGMMA_TEXT(COLUMNS, 16, f16, LIST, "%" #N0, N1, ", %" #N2 ", %" #N3)                       \
                     : SUMS                                                                                           \
                     : "l"(a), "l"(b), "n"(int(A_TRANSPOSED)), "n"(int(B_TRANSPOSED)));                               \
      } else {                                                                                                        \
        asm volatile(MGEMM_WGMMA_TEXT(COLUMNS, 8, tf32, LIST, "%" #N0, N1, "") : SUMS : "l"(a), "l"(b));              \
      }                                                                                                               \
    }                                                                                                                 \
    __device__ static __forceinline__ void run(float (&d)[COLUMNS / 2], const unsigned (&a)[4],                       \
                                               unsigned long long b) {                                                \
      asm volatile(MGEMM_WGMMA_TEXT(COLUMNS, 8, tf32, LIST, "{%" #N0 ", %" #N1 ", %" #N2 ", %" #N3 "}", N4, "")       \
                   : SUMS                                                                                             \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                             \
    }                                                                                                                 \
  };
MGEMM_WGMMA(16, MGEMM_LIST1, MGEMM_SUMS1, 8, 9, 10, 11, 12)
MGEMM_WGMMA(32, MGEMM_LIST2, MGEMM_SUMS2, 16, 17, 18, 19, 20)
MGEMM_WGMMA(48, MGEMM_LIST3, MGEMM_SUMS3, 24, 25, 26, 27, 28)
MGEMM_WGMMA(64, MGEMM_LIST4, MGEMM_SUMS4, 32, 33, 34, 35, 36)
MGEMM_WGMMA(80, MGEMM_LIST5, MGEMM_SUMS5, 40, 41, 42, 43, 44)
MGEMM_WGMMA(96, MGEMM_LIST6, MGEMM_SUMS6, 48, 49, 50, 51, 52)
MGEMM_WGMMA(112, MGEMM_LIST7, MGEMM_SUMS7, 56, 57, 58, 59, 60)
MGEMM_WGMMA(128, MGEMM_LIST8, MGEMM_SUMS8, 64, 65, 66, 67, 68)
MGEMM_WGMMA(144, MGEMM_LIST9, MGEMM_SUMS9, 72, 73, 74, 75, 76)
MGEMM_WGMMA(160, MGEMM_LIST10, MGEMM_SUMS10, 80, 81, 82, 83, 84)
MGEMM_WGMMA(176, MGEMM_LIST11, MGEMM_SUMS11, 88, 89, 90, 91, 92)
MGEMM_WGMMA(192, MGEMM_LIST12, MGEMM_SUMS12, 96, 97, 98, 99, 100)
MGEMM_WGMMA(208, MGEMM_LIST13, MGEMM_SUMS13, 104, 105, 106, 107, 108)
MGEMM_WGMMA(224, MGEMM_LIST14, MGEMM_SUMS14, 112, 113, 114, 115, 116)
MGEMM_WGMMA(240, MGEMM_LIST15, MGEMM_SUMS15, 120, 121, 122, 123, 124)
MGEMM_WGMMA(256, MGEMM_LIST16, MGEMM_SUMS16, 128, 129, 130, 131, 132)
#undef MGEMM_WGMMA
#undef MGEMM_WGMMA_TEXT
#undef MGEMM_EIGHT

// d += a * b: 16 steps, of TF32 8, of 64 rows and COLUMNS columns. TRANSPOSED says that an operand is contiguous along
// its rows or columns, not along the reduction; words must not be. Thread t of the group holds, of rows t / 32 * 16 + t
// % 32 / 4 and 8 further down, columns 8 * i + t % 4 * 2 and the next: sums 4 * i to 4 * i + 3.
template <int TYPE, int COLUMNS, bool A_TRANSPOSED, bool B_TRANSPOSED>
__device__ __forceinline__ void wgmma(float (&d)[COLUMNS / 2], unsigned long long a, unsigned long long b) {
  static_assert(TYPE == BF16 || TYPE == F16 || (TYPE == TF32 && !A_TRANSPOSED && !B_TRANSPOSED), "what there is");
  Wgmma<COLUMNS>::template run<TYPE, A_TRANSPOSED, B_TRANSPOSED>(d, a, b);
}

// The same for TF32, with a in registers: thread t has of its two rows step t % 4, and then of both the step 4 later.
// They may be written only after a wait.
template <int COLUMNS>
__device__ __forceinline__ void wgmma(float (&d)[COLUMNS / 2], const unsigned (&a)[4], unsigned long long b) {
  Wgmma<COLUMNS>::run(d, a, b);
}

}  // namespace mgemm_kernel
