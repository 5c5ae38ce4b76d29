#include "memory/registry.hpp"

#include "base/error.hpp"

namespace mgemm {

void AllocationRegistry::add(std::uint64_t address, std::int64_t bytes) { ranges_[address] = {bytes, next_epoch_++}; }

void AllocationRegistry::require(std::uint64_t address) const {
  if (!ranges_.contains(address)) {
    invalid("address is {:#x}; it must be one that mgemm_alloc of this context returned and that is not freed yet",
            address);
  }
}

void AllocationRegistry::remove(std::uint64_t address) {
  require(address);
  ranges_.erase(address);
  ++generation_;
}

std::optional<AllocationStamp> AllocationRegistry::inside(const char* name, std::uint64_t address,
                                                          std::int64_t bytes) const {
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  // The only ranges that can be touched: the last that starts at or before `address`, and the next one.
  const auto next = ranges_.upper_bound(address);
  if (next != ranges_.end() && next->first < end) {
    invalid("{} at [{:#x}, {:#x}) runs into the allocation at {:#x}", name, address, end, next->first);
  }
  if (next == ranges_.begin()) return std::nullopt;
  const auto& [base, range] = *std::prev(next);
  const std::uint64_t range_end = base + static_cast<std::uint64_t>(range.bytes);
  if (address >= range_end) return std::nullopt;
  if (end > range_end) {
    invalid("{} at {:#x} needs {} bytes; {} are left in its allocation of {} bytes at {:#x}", name, address, bytes,
            range_end - address, range.bytes, base);
  }
  return AllocationStamp{name, base, range.epoch};
}

void AllocationRegistry::check(const std::vector<AllocationStamp>& stamps) const {
  for (const AllocationStamp& stamp : stamps) {
    const auto found = ranges_.find(stamp.base);
    if (found == ranges_.end() || found->second.epoch != stamp.epoch) {
      fail(MGEMM_STALE, "{} was bound inside the allocation at {:#x}, which has been freed since; bind again",
           stamp.name, stamp.base);
    }
  }
}

std::vector<std::uint64_t> AllocationRegistry::addresses() const {
  std::vector<std::uint64_t> all;
  all.reserve(ranges_.size());
  for (const auto& [address, range] : ranges_) all.push_back(address);
  return all;
}

}  // namespace mgemm
