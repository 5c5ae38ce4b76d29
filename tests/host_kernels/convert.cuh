// Takes the place of cuda_src/convert.cuh on the host.
#pragma once
#include "gemm_params.h"
#include "host_kernels/cuda_on_host.hpp"
#include "numeric/element.hpp"
#include "tf32_bits.cuh"

namespace mgemm_kernel {

template <int TYPE>
unsigned short to_half(float value) {
  return mgemm::to_half(static_cast<mgemm::Type>(TYPE), value);
}
template <int TYPE>
unsigned to_halves(float first, float second) {
  return static_cast<unsigned>(to_half<TYPE>(first)) | static_cast<unsigned>(to_half<TYPE>(second)) << 16U;
}
template <int TYPE>
float from_half(unsigned short bits) {
  return mgemm::from_half(static_cast<mgemm::Type>(TYPE), bits);
}

inline unsigned to_tf32(unsigned bits) { return tf32_bits(bits); }

}  // namespace mgemm_kernel
