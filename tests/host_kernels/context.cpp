// ucontext makes stacks, but asks the operating system for the signal mask at every switch, which takes longer than all
// that a thread does in between: later switches are jumps. The C library's check of jumps knows only one stack.
#undef _FORTIFY_SOURCE
#include "host_kernels/context.hpp"

#include <ucontext.h>

namespace mgemm::host {
namespace {

// For the context that is being made.
Context* made_context = nullptr;
Context* maker = nullptr;
void (*made_entry)() = nullptr;

/// The first on a stack: back at once, to go on when it is first switched to.
void begin() {
  void (*const entry)() = made_entry;
  switch_context(*made_context, *maker);
  entry();
}

}  // namespace

void make_context(Context& made, std::span<std::byte> stack, void (*entry)(), Context& current) {
  made_context = &made;
  maker = &current;
  made_entry = entry;
  ucontext_t there{};
  getcontext(&there);
  there.uc_stack.ss_sp = stack.data();
  there.uc_stack.ss_size = stack.size();
  there.uc_link = nullptr;
  makecontext(&there, begin, 0);
  if (_setjmp(current.registers) == 0) setcontext(&there);
}

void switch_context(Context& current, Context& next) {
  if (_setjmp(current.registers) == 0) _longjmp(next.registers, 1);
}

}  // namespace mgemm::host
