#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace mgemm {

/// A compute capability and the virtual architectures its code is compiled for.
struct CompileTarget {
  int major;
  int minor;
  std::string_view exact;     // for this capability only; has its specific instructions
  std::string_view plain;     // for this capability and later ones of its major version
  std::int32_t shared_bytes;  // a thread block may have; CUDA C++ Programming Guide, technical specifications
};

/// Whether kernels use the copy engine, which tensor maps are for, on boards of a major version. Those of 12 have it,
/// too, but there the assembler gives every kernel that uses it a stack, which admission takes for a spill.
constexpr bool has_tensor_maps(int major) { return major >= 9 && major < 12; }

constexpr std::int32_t kibibytes(std::int32_t count) { return count * 1024; }

/// Whether boards of a major version have Hopper's instruction for warp groups, wgmma, which no later one has.
constexpr bool has_warp_groups(int major) { return major == 9; }

/// By rising capability.
constexpr std::array compile_targets{
    CompileTarget{8, 0, "compute_80", "compute_80", kibibytes(163)},
    CompileTarget{8, 6, "compute_86", "compute_86", kibibytes(99)},
    CompileTarget{8, 9, "compute_89", "compute_89", kibibytes(99)},
    CompileTarget{9, 0, "compute_90a", "compute_90", kibibytes(227)},
    CompileTarget{10, 0, "compute_100a", "compute_100", kibibytes(227)},
    CompileTarget{10, 3, "compute_103a", "compute_103", kibibytes(227)},
    CompileTarget{11, 0, "compute_110a", "compute_110", kibibytes(227)},
    CompileTarget{12, 0, "compute_120a", "compute_120", kibibytes(99)},
    CompileTarget{12, 1, "compute_121a", "compute_121", kibibytes(99)},
};

/// The row's exact target, or for a capability without a row the nearest lower plain one of the same major version;
/// "" if there is none.
constexpr std::string_view compile_target(int major, int minor) {
  std::string_view found;
  for (const CompileTarget& row : compile_targets) {
    if (row.major != major || row.minor > minor) continue;
    found = row.minor == minor ? row.exact : row.plain;
  }
  return found;
}

}  // namespace mgemm
