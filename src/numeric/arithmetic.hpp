// Included by files compiled for instruction sets the processor may lack: nothing here may be an inline function that
// is not constexpr and used in constant expressions only, or the linker could pick that file's copy for everybody.
#pragma once
#include <cstdint>

namespace mgemm {

/// How one step continues a chain: a fused multiply-add in f32, or a fused sum of products as tensor cores have it,
/// with L terms and F fraction bits (docs/contracts.md). Boards differ in L and F.
enum class Arithmetic : std::int32_t { fma32, l16f25, l8f25, l8f24, l4f24 };

/// `terms` products and the accumulator are cut `fraction` bits below the largest exponent and added exactly.
struct FusedSum {
  int terms, fraction;
};

/// By Arithmetic.
inline constexpr FusedSum fused_sums[]{{1, 0}, {16, 25}, {8, 25}, {8, 24}, {4, 24}};

}  // namespace mgemm
