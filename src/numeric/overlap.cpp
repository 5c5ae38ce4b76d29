#include "numeric/overlap.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace mgemm {
namespace {

__extension__ using Wide = __int128;

Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }
Wide ceil_div_wide(Wide a, Wide b) { return -floor_div(-a, b); }
Wide floor_mod(Wide a, Wide b) { return a - floor_div(a, b) * b; }

}  // namespace

std::int64_t first_in_residue_range(std::int64_t step, std::int64_t modulus, std::int64_t low, std::int64_t high) {
  if (low == 0) return 0;
  step %= modulus;
  if (step == 0) return -1;
  const std::int64_t count = ceil_div(low, step);
  if (Wide{count} * step <= high) return count;
  // No multiple of `step` lies in [low, high], so the sum must wrap: step * x = modulus * y + residue, which asks for
  // (modulus * y) mod step in [-high, -low] mod step, the same question with smaller numbers.
  const std::int64_t y =
      first_in_residue_range(modulus % step, step, static_cast<std::int64_t>(floor_mod(-Wide{high}, step)),
                             static_cast<std::int64_t>(floor_mod(-Wide{low}, step)));
  if (y < 0) return -1;
  return static_cast<std::int64_t>(ceil_div_wide(Wide{modulus} * y + low, step));
}

bool share_a_byte(const ByteRows& a, const ByteRows& b) {
  if (a.rows <= 0 || b.rows <= 0 || a.width <= 0 || b.width <= 0) return false;
  // Rows i of a and k of b meet iff low <= b.stride * k - a.stride * i <= high.
  const Wide offset = Wide{a.address} - Wide{b.address};
  const Wide low = offset - b.width + 1;
  const Wide high = offset + a.width - 1;
  // For row i the only candidate is the smallest k with b.stride * k >= low + a.stride * i. It is in [0, b.rows) for a
  // contiguous range of i. (Where that k would be negative, k = 0 may do: those i are looked at first.)
  const Wide last_with_negative = floor_div(-low, a.stride);
  if (last_with_negative >= 0) {
    // low + a.stride * i <= 0 holds for i <= last_with_negative; there k = 0 meets row i iff -a.stride * i <= high.
    const Wide last = std::min<Wide>(last_with_negative, a.rows - 1);
    if (-(Wide{a.stride} * last) <= high) return true;
  }
  const Wide first_row = std::max<Wide>(0, last_with_negative + 1);
  const Wide most = Wide{b.stride} * (b.rows - 1) - low;  // a.stride * i must not exceed this
  if (most < 0) return false;
  const Wide last_row = std::min<Wide>(a.rows - 1, floor_div(most, a.stride));
  if (first_row > last_row) return false;
  // Wanted: i in [first_row, last_row] with (-(low + a.stride * i)) mod b.stride <= high - low.
  const Wide width = high - low;
  if (width >= b.stride - 1) return true;
  const Wide start = floor_mod(-(low + Wide{a.stride} * first_row), b.stride);
  const auto step = static_cast<std::int64_t>(floor_mod(-Wide{a.stride}, b.stride));
  const Wide from = floor_mod(-start, b.stride);
  const Wide to = from + width;
  if (to >= b.stride) return true;  // the range contains residue 0, that is, x = 0
  const std::int64_t x =
      first_in_residue_range(step, b.stride, static_cast<std::int64_t>(from), static_cast<std::int64_t>(to));
  return x >= 0 && first_row + x <= last_row;
}

}  // namespace mgemm
