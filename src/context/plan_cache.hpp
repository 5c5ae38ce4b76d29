#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "route/plan.hpp"

namespace mgemm {

/// The plans behind mgemm_gemm, by problem and alignment; the least recently used one makes room.
class PlanCache {
 public:
  static constexpr size_t capacity = 1024;

  std::shared_ptr<const Plan> find(const Problem& problem, std::int32_t alignment);
  void insert(std::shared_ptr<const Plan> plan);

 private:
  struct Entry {
    std::shared_ptr<const Plan> plan;
    std::uint64_t last_use = 0;
  };
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t clock_ = 0;
};

}  // namespace mgemm
