#pragma once
#include <setjmp.h>

#include <cstddef>
#include <span>

namespace mgemm::host {

/// Where something was left that has a stack of its own.
struct Context {
  jmp_buf registers{};
};

/// A context that calls `entry` on a stack as soon as it is switched to. `entry` does not return.
void make_context(Context& made, std::span<std::byte> stack, void (*entry)(), Context& current);

/// Leaves the one that runs, and goes on where the other was left.
void switch_context(Context& current, Context& next);

}  // namespace mgemm::host
