#include "context/plan_cache.hpp"

#include <algorithm>

namespace mgemm {
namespace {

/// Every field of the problem, alpha and beta bit for bit.
std::string key_of(const Problem& problem, std::int32_t alignment) {
  const mgemm_problem c = to_c(problem);
  std::string key(reinterpret_cast<const char*>(&c), sizeof c);
  key.append(reinterpret_cast<const char*>(&alignment), sizeof alignment);
  return key;
}

}  // namespace

std::shared_ptr<const Plan> PlanCache::find(const Problem& problem, std::int32_t alignment) {
  const auto found = entries_.find(key_of(problem, alignment));
  if (found == entries_.end()) return nullptr;
  found->second.last_use = ++clock_;
  return found->second.plan;
}

void PlanCache::insert(std::shared_ptr<const Plan> plan) {
  if (entries_.size() >= capacity) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }
  const std::string key = key_of(plan->problem, plan->alignment);
  entries_[key] = {std::move(plan), ++clock_};
}

}  // namespace mgemm
