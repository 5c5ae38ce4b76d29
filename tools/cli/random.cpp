#include "random.hpp"

namespace mgemm::cli {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// Pairs of neighbouring 16-bit fields added up, in two 32-bit lanes.
constexpr std::uint64_t add_fields(std::uint64_t word) {
  constexpr std::uint64_t even = 0x0000ffff0000ffffU;
  return (word & even) + ((word >> 16U) & even);
}

}  // namespace

std::uint64_t random_word(std::uint64_t seed, Stream stream, std::uint64_t index) {
  return mix(mix(seed + static_cast<std::uint64_t>(stream) * golden) + (index + 1) * golden);
}

float random_normal(std::uint64_t seed, Stream stream, std::uint64_t index) {
  constexpr std::int32_t mean = 8 * 65535 / 2;
  constexpr float scale = 0x1.3988e2p-16F;  // 1 / sqrt(8 (65536^2 - 1) / 12)
  const std::uint64_t lanes =
      add_fields(random_word(seed, stream, 2 * index)) + add_fields(random_word(seed, stream, 2 * index + 1));
  const auto sum = static_cast<std::int32_t>((lanes & 0xffffffffU) + (lanes >> 32U));
  return static_cast<float>(sum - mean) * scale;
}

}  // namespace mgemm::cli
