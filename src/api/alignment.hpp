#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.hpp"
#include "numeric/problem.hpp"

namespace mgemm {

/// Plans tell no more alignments apart than kernels do.
constexpr std::int32_t widest_alignment = 16;

/// The alignment argument of the interface, for elements of `element` bytes.
inline void require_alignment(std::int32_t alignment, std::int64_t element) {
  constexpr std::int32_t largest = 256;
  if (alignment == 0) return;
  if (alignment < element || alignment > largest || !std::has_single_bit(static_cast<unsigned>(alignment))) {
    invalid("alignment is {}; it must be 0 or a power of two from {} to {}", alignment, element, largest);
  }
}

/// As plans count it: 0 is the element's size, and leading dimensions allow no more than they are multiples of.
inline std::int32_t plan_alignment(std::int32_t alignment, const Problem& problem) {
  const std::int64_t size = size_of(problem.in_type);
  require_alignment(alignment, size);
  const std::int64_t promised = alignment == 0 ? size : std::min(alignment, widest_alignment);
  const std::int64_t all = promised | problem.lda * size | problem.ldb * size;
  return static_cast<std::int32_t>(all & -all);
}

}  // namespace mgemm
