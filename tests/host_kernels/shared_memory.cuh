// Takes the place of cuda_src/shared_memory.cuh on the host.
#pragma once
#include "host_kernels/block.hpp"
#include "host_kernels/cuda_on_host.hpp"

namespace mgemm_kernel {

inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(static_cast<const char*>(pointer) - reinterpret_cast<const char*>(dynamic_shared));
}

inline void store_shared(unsigned shared, unsigned word) { mgemm::host::write_shared(shared, &word, sizeof word); }
inline void store_pair(unsigned shared, float x, float y) {
  const float2 pair{x, y};
  mgemm::host::write_shared(shared, &pair, sizeof pair);
}
inline unsigned load_shared(unsigned shared) {
  unsigned word = 0;
  mgemm::host::read_shared(shared, &word, sizeof word);
  return word;
}
inline float load_shared_float(unsigned shared) {
  float value = 0;
  mgemm::host::read_shared(shared, &value, sizeof value);
  return value;
}
inline float4 load_four(unsigned shared) {
  float4 four{};
  mgemm::host::read_shared(shared, &four, sizeof four);
  return four;
}

}  // namespace mgemm_kernel
