#pragma once
#include <functional>
#include <span>

#include "context/context.hpp"

namespace mgemm {

/// A problem, and what is promised of the alignment of its operands.
struct WarmupItem {
  Problem problem;
  std::int32_t alignment = 0;
};

/// Makes the plans of many problems, the modules they need first and several at a time. `progress` is called on the
/// calling thread with how many of how many steps are done and what the latest was; it returns false to stop, and then
/// warm_up() does. The first failure is thrown once all else is done; what was made stays. Whether it ran to the end.
using WarmupProgress = std::function<bool(std::int64_t done, std::int64_t total, const char* what)>;
bool warm_up(Context& context, std::span<const WarmupItem> items, int threads, const WarmupProgress& progress);

}  // namespace mgemm
