#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mgemm::cli {

/// A row-major matrix in memory; sizes in elements. The words behind `columns` in each row are its gap.
struct Matrix {
  std::int64_t rows = 0, columns = 0, leading = 0;

  std::int64_t elements() const { return rows * columns; }
  std::int64_t words() const { return rows * leading; }
};

struct Mismatch {
  std::int64_t row = 0, column = 0;
  std::uint32_t got = 0, expected = 0;  // bits
};

/// What a check of an output found.
struct Comparison {
  bool sampled = false;
  std::int64_t elements = 0;  // of the output
  std::int64_t checked = 0, equal = 0;
  std::int64_t gap_words = 0, gap_changed = 0;  // words that no product may write
  std::optional<Mismatch> first;                // in row-major order; an element, not a gap word

  bool passed() const { return equal == checked && gap_changed == 0; }
};

/// Elements to look at, rows[i] with columns[i], in row-major order.
struct Samples {
  std::vector<std::int64_t> rows, columns;
};

/// Compares every word, gap included, bit for bit.
Comparison compare_all(const Matrix& matrix, std::span<const float> got, std::span<const float> expected);

/// Compares samples with `expected`, and every gap word with `before`.
Comparison compare_samples(const Matrix& matrix, const Samples& samples, std::span<const float> got,
                           std::span<const float> expected, std::span<const float> before);

/// The corners and elements drawn with `seed`, `count` in all; every element if there are no more than that.
Samples draw_samples(const Matrix& matrix, std::int64_t count, std::uint64_t seed);

}  // namespace mgemm::cli
