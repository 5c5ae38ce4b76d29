#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace mgemm {

/// Multiply-adds a clock that a multiprocessor does at most, on its f32 pipe and, summed up in f32, on its tensor
/// cores.
struct Peaks {
  double f32, tf32, halves;
};

/// A compute capability and the virtual architectures its code is compiled for.
struct CompileTarget {
  int major;
  int minor;
  std::string_view exact;     // for this capability only; has its specific instructions
  std::string_view plain;     // for this capability and later ones of its major version
  std::int32_t shared_bytes;  // a thread block may have; CUDA C++ Programming Guide, technical specifications
  // f32: the same guide, arithmetic throughput; tensor cores: the data sheets of A100, A40, L40S, H200, B200, RTX PRO
  // 6000 (TFLOP/s without sparsity, over multiprocessors and boost clock). Of classes not listed, those of their
  // kin; GeForce boards do half of it when they sum up in f32.
  Peaks peaks;
};

/// Whether kernels use the copy engine, which tensor maps are for, on boards of a major version. Those of 12 have it,
/// too, but there the assembler gives every kernel that uses it a stack, which admission takes for a spill.
constexpr bool has_tensor_maps(int major) { return major >= 9 && major < 12; }

constexpr std::int32_t kibibytes(std::int32_t count) { return count * 1024; }

/// Whether boards of a major version have Hopper's instruction for warp groups, wgmma, which no later one has.
constexpr bool has_warp_groups(int major) { return major == 9; }

/// By rising capability.
constexpr std::array compile_targets{
    CompileTarget{8, 0, "compute_80", "compute_80", kibibytes(163), {64, 512, 1024}},
    CompileTarget{8, 6, "compute_86", "compute_86", kibibytes(99), {128, 256, 512}},
    CompileTarget{8, 9, "compute_89", "compute_89", kibibytes(99), {128, 256, 512}},
    CompileTarget{9, 0, "compute_90a", "compute_90", kibibytes(227), {128, 1024, 2048}},
    CompileTarget{10, 0, "compute_100a", "compute_100", kibibytes(227), {128, 2048, 4096}},
    CompileTarget{10, 3, "compute_103a", "compute_103", kibibytes(227), {128, 2048, 4096}},
    CompileTarget{11, 0, "compute_110a", "compute_110", kibibytes(227), {128, 2048, 4096}},
    CompileTarget{12, 0, "compute_120a", "compute_120", kibibytes(99), {128, 256, 512}},
    CompileTarget{12, 1, "compute_121a", "compute_121", kibibytes(99), {128, 256, 512}},
};

/// The row of a capability, or of one without a row the nearest lower one of the same major version; nullptr if there
/// is none.
constexpr const CompileTarget* find_target(int major, int minor) {
  const CompileTarget* found = nullptr;
  for (const CompileTarget& row : compile_targets) {
    if (row.major == major && row.minor <= minor) found = &row;
  }
  return found;
}

/// The exact target of a capability's own row, the plain one of another's; "" if there is none.
constexpr std::string_view compile_target(int major, int minor) {
  const CompileTarget* const row = find_target(major, minor);
  return row == nullptr ? std::string_view() : row->minor == minor ? row->exact : row->plain;
}

}  // namespace mgemm
