#include "compare.hpp"

#include <algorithm>
#include <utility>

#include "random.hpp"

namespace mgemm::cli {
namespace {

void compare_element(Comparison& result, const Mismatch& element) {
  ++result.checked;
  if (element.got == element.expected) {
    ++result.equal;
  } else if (!result.first) {
    result.first = element;
  }
}

void compare_gap(Comparison& result, const Matrix& matrix, const Array& got, const Array& before) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = matrix.columns; column < matrix.leading; ++column) {
      const auto at = static_cast<std::size_t>(row * matrix.leading + column);
      ++result.gap_elements;
      if (got.bits(at) != before.bits(at)) ++result.gap_changed;
    }
  }
}

}  // namespace

Comparison compare_all(const Matrix& matrix, const Array& got, const Array& expected) {
  Comparison result;
  result.elements = matrix.elements();
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const auto at = static_cast<std::size_t>(row * matrix.leading + column);
      compare_element(result, {row, column, got.bits(at), expected.bits(at), got.type()});
    }
  }
  compare_gap(result, matrix, got, expected);
  return result;
}

Comparison compare_samples(const Matrix& matrix, const Samples& samples, const Array& got,
                           std::span<const float> expected, const Array& before) {
  Comparison result;
  result.sampled = true;
  result.elements = matrix.elements();
  for (std::size_t i = 0; i < samples.rows.size(); ++i) {
    const auto at = static_cast<std::size_t>(samples.rows[i] * matrix.leading + samples.columns[i]);
    compare_element(result,
                    {samples.rows[i], samples.columns[i], got.bits(at), bits_in(got.type(), expected[i]), got.type()});
  }
  compare_gap(result, matrix, got, before);
  return result;
}

Samples draw_samples(const Matrix& matrix, std::int64_t count, std::uint64_t seed) {
  const std::int64_t elements = matrix.elements();
  std::vector<std::int64_t> chosen;
  if (elements <= count) {
    for (std::int64_t i = 0; i < elements; ++i) chosen.push_back(i);
  } else {
    const std::int64_t last_row = (matrix.rows - 1) * matrix.columns;
    const auto word_below = [&](std::uint64_t index, std::int64_t limit) {
      return static_cast<std::int64_t>(random_word(seed, Stream::samples, index) % static_cast<std::uint64_t>(limit));
    };
    std::vector<std::int64_t> corners{0, matrix.columns - 1, last_row, elements - 1};
    std::sort(corners.begin(), corners.end());
    corners.erase(std::unique(corners.begin(), corners.end()), corners.end());
    chosen = corners;
    if (count > elements / 8) {
      // Many: one pass over the others that takes each with the probability that gives the right number in the end.
      std::int64_t wanted = count - std::ssize(corners);
      std::int64_t left = elements - std::ssize(corners);
      for (std::int64_t i = 0; i < elements && wanted > 0; ++i) {
        if (std::binary_search(corners.begin(), corners.end(), i)) continue;
        if (word_below(static_cast<std::uint64_t>(i), left--) >= wanted) continue;
        chosen.push_back(i);
        --wanted;
      }
      std::sort(chosen.begin(), chosen.end());
    } else {
      // Few: an element may be drawn twice, so duplicates are replaced until there are enough.
      std::uint64_t index = 0;
      while (std::ssize(chosen) < count) {
        while (std::ssize(chosen) < count) chosen.push_back(word_below(index++, elements));
        std::sort(chosen.begin(), chosen.end());
        chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
      }
    }
  }
  Samples samples;
  for (const std::int64_t element : chosen) {
    samples.rows.push_back(element / matrix.columns);
    samples.columns.push_back(element % matrix.columns);
  }
  return samples;
}

}  // namespace mgemm::cli
