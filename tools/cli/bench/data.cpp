#include "bench/data.hpp"

#include <cmath>
#include <cstring>

#include "array.hpp"
#include "random.hpp"

namespace mgemm::cli::bench {
namespace {

constexpr std::int64_t pool_elements = 4194301;  // the largest prime below 2^22

float uniform(std::uint64_t seed, std::uint64_t index) {
  constexpr unsigned unused_bits = 40;  // 24 remain: exact in f32
  return static_cast<float>(random_word(seed, Stream::a, index) >> unused_bits) * 0x1p-23F - 1;
}

/// The values of all 2^16 bits of a half type: outputs have up to 10^8 elements, too many to convert one by one.
std::vector<float> half_values(std::int32_t type) {
  std::vector<float> values(std::size_t{1} << 16U);
  for (std::size_t bits = 0; bits < values.size(); ++bits)
    values[bits] = value_in(type, static_cast<std::uint32_t>(bits));
  return values;
}

struct Norms {
  double difference = 0, expected = 0;

  void add(float got, float wanted) {
    const double apart = static_cast<double>(got) - static_cast<double>(wanted);
    difference += apart * apart;
    expected += static_cast<double>(wanted) * static_cast<double>(wanted);
  }
};

/// `read(bytes)` is the value of the element that begins there.
template <typename Read>
Norms norms_of(const Matrix& matrix, std::size_t size, std::span<const std::byte> got,
               std::span<const std::byte> expected, const Read& read) {
  Norms norms;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::size_t start = static_cast<std::size_t>(row * matrix.leading) * size;
    const std::size_t end = start + static_cast<std::size_t>(matrix.columns) * size;
    for (std::size_t at = start; at < end; at += size) norms.add(read(got.data() + at), read(expected.data() + at));
  }
  return norms;
}

template <typename Bits>
Bits bits_at(const std::byte* place) {
  Bits bits{};
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}

}  // namespace

Pool::Pool(std::int32_t type, std::uint64_t seed) : type_(type) {
  Array values(type, pool_elements);
  for (std::size_t i = 0; i < values.size(); ++i) values.set(i, uniform(seed, i));
  bytes_.assign(values.bytes().begin(), values.bytes().end());
}

double relative_error(std::int32_t type, const Matrix& matrix, std::span<const std::byte> got,
                      std::span<const std::byte> expected) {
  Norms norms;
  if (mamba_gemm::is_half(type)) {
    const std::vector<float> values = half_values(type);
    norms = norms_of(matrix, sizeof(std::uint16_t), got, expected,
                     [&](const std::byte* place) { return values[bits_at<std::uint16_t>(place)]; });
  } else {
    norms = norms_of(matrix, sizeof(float), got, expected, bits_at<float>);
  }
  if (norms.difference == 0) return 0;
  return std::sqrt(norms.difference / norms.expected);
}

}  // namespace mgemm::cli::bench
