#pragma once
#include <cstdint>

namespace mgemm {

/// A set of bytes: `rows` intervals of `width` bytes, `stride` bytes apart, the first at `address`.
struct ByteRows {
  std::uint64_t address = 0;
  std::int64_t rows = 0, stride = 0, width = 0;
};

/// Whether two such sets share a byte. Exact, in O(log) time, so that column windows of one buffer that interleave
/// without touching are told apart from real overlap. Both must lie below 2^63 and have stride >= width > 0
/// where they have rows.
bool share_a_byte(const ByteRows& a, const ByteRows& b);

/// The smallest x >= 0 with low <= (step * x) mod modulus <= high, or -1. 0 <= low <= high < modulus, 0 <= step.
std::int64_t first_in_residue_range(std::int64_t step, std::int64_t modulus, std::int64_t low, std::int64_t high);

}  // namespace mgemm
