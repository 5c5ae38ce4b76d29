#pragma once
#include <cstdint>

namespace mgemm::cli {

/// The tool's data: a counter-based generator, so that element i of a stream depends on (seed, stream, i) alone and is
/// the same with every compiler, library and processor.

/// Each operand draws from a stream of its own.
enum class Stream : std::uint64_t { a = 1, b = 2, bias = 3, old = 4, samples = 5 };

/// mix(mix(seed + stream * g) + (index + 1) * g) with g and mix of splitmix64.
std::uint64_t random_word(std::uint64_t seed, Stream stream, std::uint64_t index);

/// Nearly normal, mean 0, deviation 1, at most 4.9: the eight 16-bit fields of words 2i and 2i + 1, added up, minus
/// their mean (integers, exact), times a constant (the only rounding). No function of libm, whose last bits vary.
float random_normal(std::uint64_t seed, Stream stream, std::uint64_t index);

}  // namespace mgemm::cli
