#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli {

/// The bits of a value in a type, rounded to nearest even; NaN is 0x7fffffff in f32, unless it is one already, and
/// 0x7fff in a half.
std::uint32_t bits_in(std::int32_t type, float value);

/// The value of such bits.
float value_in(std::int32_t type, std::uint32_t bits);

/// Elements of one type as they lie in memory.
class Array {
 public:
  Array() = default;
  /// All of them a NaN that no product gives.
  Array(std::int32_t type, std::int64_t count);
  /// Of type f32.
  explicit Array(std::span<const float> values);

  std::int32_t type() const { return type_; }
  std::size_t size() const { return bytes_.size() / static_cast<std::size_t>(mamba_gemm::element_bytes(type_)); }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  std::uint32_t bits(std::size_t index) const;
  void set(std::size_t index, float value);
  /// Of type f32 or tf32.
  std::span<const float> floats() const;

 private:
  std::int32_t type_ = MGEMM_TYPE_F32;
  std::vector<std::byte> bytes_;
};

}  // namespace mgemm::cli
