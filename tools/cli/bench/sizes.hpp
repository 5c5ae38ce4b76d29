#pragma once
#include <algorithm>
#include <cstdint>

namespace mgemm::cli::bench {

/// How many sets of operands of so many bytes a cell rotates over: at least 128 MiB in all, which is more than the L2
/// cache of any board, and at least two. Sets below 32 KiB stay below that, for a graph walks through all of them.
constexpr std::int64_t sets_for(std::int64_t bytes) {
  constexpr std::int64_t in_all = std::int64_t{128} << 20U;
  constexpr std::int64_t fewest = 2;
  constexpr std::int64_t most = 4096;
  return std::clamp((in_all + bytes - 1) / std::max<std::int64_t>(bytes, 1), fewest, most);
}

/// How many products a graph has so that a replay takes a millisecond or a little more, at least 8, if one takes `us`.
/// A multiple of the sets: otherwise the last products of a replay would leave in the cache what the next one begins
/// with.
constexpr std::int64_t nodes_for(double us, std::int64_t sets) {
  constexpr double replay_us = 1000;
  constexpr std::int64_t fewest = 8;
  constexpr std::int64_t most = 65536;
  const double wanted = us > 0 ? std::min(replay_us / us, static_cast<double>(most)) : 0;
  const std::int64_t nodes = std::max(static_cast<std::int64_t>(wanted) + 1, fewest);
  return (nodes + sets - 1) / sets * sets;
}

}  // namespace mgemm::cli::bench
