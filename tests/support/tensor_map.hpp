// What stands for the driver's tensor maps where there is no driver: a readable form in their place.
#pragma once
#include <bit>
#include <cstdint>

#include "base/cuda_abi.hpp"

namespace mgemm::test {

struct HostTensorMap {
  std::uint64_t address, inner, outer, stride;       // extents in elements, the stride in bytes
  std::uint32_t box_inner, box_outer, size, spread;  // `spread`: bytes of a line that are permuted, 16 if none are
  std::uint64_t rounds_to_tf32 = 0;
  std::uint64_t unused[9] = {};
};
static_assert(sizeof(HostTensorMap) == sizeof(cuda::TensorMap));

inline std::uint32_t element_bytes(cuda::TensorMapDataType type) {
  return type == cuda::TensorMapDataType::Float32 || type == cuda::TensorMapDataType::TFloat32 ? 4 : 2;
}

/// cuTensorMapEncodeTiled of two dimensions, with the rules of the driver's documentation.
inline cuda::Result encode_on_host(cuda::TensorMap* map, cuda::TensorMapDataType type, std::uint32_t rank,
                                   void* address, const std::uint64_t* extents, const std::uint64_t* strides,
                                   const std::uint32_t* box, const std::uint32_t* element_strides,
                                   cuda::TensorMapInterleave, cuda::TensorMapSwizzle swizzle,
                                   cuda::TensorMapL2Promotion, cuda::TensorMapFill) {
  constexpr std::uint64_t most_extent = std::uint64_t{1} << 32U;
  constexpr std::uint64_t most_stride = std::uint64_t{1} << 40U;
  HostTensorMap made{};
  made.size = element_bytes(type);
  made.rounds_to_tf32 = type == cuda::TensorMapDataType::TFloat32 ? 1 : 0;
  made.spread = 16U << static_cast<unsigned>(swizzle);
  made.address = reinterpret_cast<std::uint64_t>(address);
  made.inner = extents[0];
  made.outer = extents[1];
  made.stride = strides[0];
  made.box_inner = box[0];
  made.box_outer = box[1];
  const std::uint64_t line = std::uint64_t{made.box_inner} * made.size;
  const bool in_range = made.inner >= 1 && made.inner <= most_extent && made.outer >= 1 && made.outer <= most_extent &&
                        made.stride < most_stride && box[0] >= 1 && box[0] <= 256 && box[1] >= 1 && box[1] <= 256;
  const bool aligned = made.address % 16 == 0 && made.stride % 16 == 0 && line % 16 == 0;
  const bool permutes = swizzle == cuda::TensorMapSwizzle::None || line <= made.spread;
  if (rank != 2 || element_strides[0] != 1 || element_strides[1] != 1 || !in_range || !aligned || !permutes) {
    return cuda::Result::InvalidValue;
  }
  *map = std::bit_cast<cuda::TensorMap>(made);
  return cuda::Result::Success;
}

}  // namespace mgemm::test
