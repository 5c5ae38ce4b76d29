#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace mgemm {

/// The part of an allocation a launch is bound to. The epoch tells an allocation from a later one at the same address.
struct AllocationStamp {
  const char* name = nullptr;
  std::uint64_t base = 0;
  std::uint64_t epoch = 0;
};

/// What mgemm_alloc gave and mgemm_free has not taken back.
class AllocationRegistry {
 public:
  void add(std::uint64_t address, std::int64_t bytes);
  /// Throws if `address` is not the start of an allocation.
  void require(std::uint64_t address) const;
  void remove(std::uint64_t address);

  /// If [address, address + bytes) touches an allocation, checks that it lies inside it and gives its stamp; memory
  /// from elsewhere gives none. Throws Error with `name`, needed and available bytes.
  std::optional<AllocationStamp> inside(const char* name, std::uint64_t address, std::int64_t bytes) const;
  /// Throws MGEMM_STALE if a stamped allocation is gone.
  void check(const std::vector<AllocationStamp>& stamps) const;

  /// Changes with every removal: as long as it is the same, nothing can be stale.
  std::uint64_t generation() const { return generation_; }

  std::vector<std::uint64_t> addresses() const;

 private:
  struct Range {
    std::int64_t bytes = 0;
    std::uint64_t epoch = 0;
  };
  std::map<std::uint64_t, Range> ranges_;
  std::uint64_t next_epoch_ = 1;
  std::uint64_t generation_ = 1;
};

}  // namespace mgemm
