#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "array.hpp"

namespace mgemm::cli {

/// A row-major matrix in memory; sizes in elements. Those behind `columns` in each row are its gap.
struct Matrix {
  std::int64_t rows = 0, columns = 0, leading = 0;

  std::int64_t elements() const { return rows * columns; }
  std::int64_t with_gaps() const { return rows * leading; }
};

struct Mismatch {
  std::int64_t row = 0, column = 0;
  std::uint32_t got = 0, expected = 0;  // bits, of a half in the low half
  std::int32_t type = MGEMM_TYPE_F32;
};

/// What a check of an output found.
struct Comparison {
  bool sampled = false;
  std::int64_t elements = 0;  // of the output
  std::int64_t checked = 0, equal = 0;
  std::int64_t gap_elements = 0, gap_changed = 0;  // elements that no product may write
  std::optional<Mismatch> first;                   // in row-major order; not of the gap

  bool passed() const { return equal == checked && gap_changed == 0; }
};

/// Elements to look at, rows[i] with columns[i], in row-major order.
struct Samples {
  std::vector<std::int64_t> rows, columns;
};

/// Compares every element, gap included, bit for bit.
Comparison compare_all(const Matrix& matrix, const Array& got, const Array& expected);

/// Compares samples with `expected`, and every element of the gap with `before`.
Comparison compare_samples(const Matrix& matrix, const Samples& samples, const Array& got,
                           std::span<const float> expected, const Array& before);

/// The corners and elements drawn with `seed`, `count` in all; every element if there are no more than that.
Samples draw_samples(const Matrix& matrix, std::int64_t count, std::uint64_t seed);

}  // namespace mgemm::cli
