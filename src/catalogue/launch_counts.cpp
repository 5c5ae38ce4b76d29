#include "catalogue/launch_counts.hpp"

#include <array>
#include <atomic>

namespace mgemm {
namespace {

// Made before anything runs and never torn down: launches come from any thread, also while the process ends.
constinit std::array<std::atomic<std::uint64_t>, most_counted_rows> counts{};

}  // namespace

void count_launch(std::int32_t row) {
  if (row >= 0) counts.at(static_cast<std::size_t>(row)).fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t launches_of(std::int32_t row) {
  return counts.at(static_cast<std::size_t>(row)).load(std::memory_order_relaxed);
}

}  // namespace mgemm
