#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compare.hpp"

namespace mgemm::cli::bench {

/// Random elements of one type, uniform in [-1, 1): no sum of products overflows a half, for that would take more than
/// 65504 terms of 1. Operands are filled with it over and over; its length is a prime, so that rows do not repeat.
class Pool {
 public:
  Pool(std::int32_t type, std::uint64_t seed);
  std::int32_t type() const { return type_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::int32_t type_;
  std::vector<std::byte> bytes_;
};

/// ||got - expected|| / ||expected|| over the matrix, without the gaps between its rows; NaN if any element is NaN, and
/// infinite if only `expected` is all zeros.
double relative_error(std::int32_t type, const Matrix& matrix, std::span<const std::byte> got,
                      std::span<const std::byte> expected);

}  // namespace mgemm::cli::bench
