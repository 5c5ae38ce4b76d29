#include "array.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::cli {

std::uint32_t bits_in(std::int32_t type, float value) {
  return mamba_gemm::is_half(type) ? mamba_gemm::to_half(type, value) : std::bit_cast<std::uint32_t>(value);
}

float value_in(std::int32_t type, std::uint32_t bits) {
  return mamba_gemm::is_half(type) ? mamba_gemm::from_half(type, static_cast<std::uint16_t>(bits))
                                   : std::bit_cast<float>(bits);
}

Array::Array(std::int32_t type, std::int64_t count)
    : type_(type), bytes_(static_cast<std::size_t>(count * mamba_gemm::element_bytes(type))) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i % 2 == 0 ? 0xba : 0xff);
}

Array::Array(std::span<const float> values) : bytes_(values.size_bytes()) {
  std::ranges::copy(std::as_bytes(values), bytes_.begin());
}

std::uint32_t Array::bits(std::size_t index) const {
  const auto size = static_cast<std::size_t>(mamba_gemm::element_bytes(type_));
  std::uint32_t value = 0;
  std::memcpy(&value, bytes_.data() + index * size, size);
  return value;
}

void Array::set(std::size_t index, float value) {
  const auto size = static_cast<std::size_t>(mamba_gemm::element_bytes(type_));
  const std::uint32_t bits = bits_in(type_, value);
  std::memcpy(bytes_.data() + index * size, &bits, size);
}

std::span<const float> Array::floats() const {
  return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
}

}  // namespace mgemm::cli
