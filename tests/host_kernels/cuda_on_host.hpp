// What CUDA C++ has and C++ has not, as far as cuda_src uses it: so that the kernels' own sources run on a host, thread
// by thread. Included before them.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#define __device__
#define __global__
#define __shared__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
// Of the thread that runs; set by the scheduler.
extern Index3 threadIdx;
extern Index3 blockIdx;
extern Index3 gridDim;

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

void __syncthreads();
void __syncwarp();
// Of all lanes of a warp.
unsigned __shfl_xor_sync(unsigned lanes, unsigned value, int mask);
inline float __shfl_xor_sync(unsigned lanes, float value, int mask) {
  return std::bit_cast<float>(__shfl_xor_sync(lanes, std::bit_cast<unsigned>(value), mask));
}

// The f32 pipe gives one NaN.
inline float canonical(float value) { return value == value ? value : std::bit_cast<float>(0x7fffffffU); }
inline float __fmaf_rn(float a, float b, float c) { return canonical(std::fma(a, b, c)); }
inline float __fmul_rn(float a, float b) { return canonical(a * b); }
inline float __fadd_rn(float a, float b) { return canonical(a + b); }
// The f64 pipe does not, and converting keeps a NaN's sign and payload.
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __double2float_rn(double a) { return static_cast<float>(a); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }

// Shared memory: the scheduler's, fresh for each thread block.
namespace mgemm_kernel {
extern float4 dynamic_shared[];
}
