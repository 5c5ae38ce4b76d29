#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.hpp"
#include "numeric/problem.hpp"

namespace mgemm {

/// Plans tell no more alignments apart than kernels do.
constexpr std::int32_t widest_alignment = 16;

/// The alignment argument of the interface, as plans count it.
inline std::int32_t checked_alignment(std::int32_t alignment, Type type) {
  constexpr std::int32_t largest = 256;
  const auto element = static_cast<std::int32_t>(size_of(type));
  if (alignment == 0) return element;
  if (alignment < element || alignment > largest || !std::has_single_bit(static_cast<unsigned>(alignment))) {
    invalid("alignment is {}; it must be 0 or a power of two from {} to {}", alignment, element, largest);
  }
  return std::min(alignment, widest_alignment);
}

/// The same for a problem: its leading dimensions allow no more than they are multiples of.
inline std::int32_t checked_alignment(std::int32_t alignment, const Problem& problem) {
  const std::int64_t size = size_of(problem.in_type);
  const std::int64_t all = checked_alignment(alignment, problem.in_type) | problem.lda * size | problem.ldb * size;
  return static_cast<std::int32_t>(all & -all);
}

}  // namespace mgemm
