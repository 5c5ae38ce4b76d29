#pragma once
#include <atomic>
#include <cstdint>

#include "base/fork.hpp"

namespace mgemm {

/// One T a process, made on first use and never destroyed. The child of a fork gets a new one: the parent's may have
/// been in the middle of a change by a thread that the child does not have. For objects of static storage.
template <typename T>
class PerProcess {
 public:
  T& get() {
    const std::uint32_t generation = fork_generation();
    Node* node = node_.load(std::memory_order_acquire);
    while (node == nullptr || node->generation != generation) {
      auto* const fresh = new Node{generation, node, {}};
      if (node_.compare_exchange_strong(node, fresh, std::memory_order_acq_rel)) return fresh->value;
      delete fresh;
    }
    return node->value;
  }

 private:
  struct Node {
    std::uint32_t generation;
    Node* parents;  // kept reachable, for leak checkers
    T value;
  };
  std::atomic<Node*> node_{nullptr};
};

}  // namespace mgemm
