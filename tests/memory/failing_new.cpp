#include "failing_new.hpp"

#include <cstdlib>
#include <new>

namespace mgemm::test {
namespace {

constexpr std::int64_t never = -1;
thread_local std::int64_t failing = never;
thread_local std::int64_t allocations = 0;

}  // namespace

void fail_allocation_after(std::int64_t successes) {
  allocations = 0;
  failing = successes;
}

std::int64_t stop_failing() {
  failing = never;
  return allocations;
}

}  // namespace mgemm::test

void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept {
  using namespace mgemm::test;
  if (allocations++ == failing) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*unused*/) noexcept { std::free(memory); }
