// Fresh random data: a new seed every run, printed when a check fails, repeatable with MGEMM_TEST_SEED.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>

namespace mgemm::test {

inline std::uint64_t fresh_seed() {
  if (const char* text = std::getenv("MGEMM_TEST_SEED")) return std::stoull(text);
  return (std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}();
}

using Random = std::mt19937_64;

inline std::int64_t uniform(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

inline void fill_normal(Random& random, std::span<float> values) {
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
}

}  // namespace mgemm::test
