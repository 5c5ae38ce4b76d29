#include "catalogue/launch_counts.hpp"

#include <atomic>
#include <vector>

#include "catalogue/catalogue.hpp"

namespace mgemm {
namespace {

std::atomic<std::uint64_t>& count_of(std::int32_t row) {
  static std::vector<std::atomic<std::uint64_t>> counts(catalogue().size());
  return counts.at(static_cast<size_t>(row));
}

}  // namespace

void count_launch(std::int32_t row) {
  if (row >= 0) count_of(row).fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t launches_of(std::int32_t row) { return count_of(row).load(std::memory_order_relaxed); }

}  // namespace mgemm
