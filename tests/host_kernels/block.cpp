#include "host_kernels/block.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_kernels/cuda_on_host.hpp"

Index3 threadIdx;
Index3 blockIdx;

namespace mgemm_kernel {
// As much as any GPU has, and a guard behind it.
alignas(1024) float4 dynamic_shared[(227 * 1024 + 1024) / sizeof(float4)];
}  // namespace mgemm_kernel

namespace mgemm::host {
namespace {

struct Copy {
  std::uint32_t destination;
  const void* source;
  int bytes, valid;
};

/// An mbarrier. `phase` is the number of the one that goes on.
struct Barrier {
  std::uint32_t arrivals = 0, pending = 0, phase = 0;
  std::int64_t bytes = 0;  // to come

  void arrive(std::int64_t expected = 0) {
    if (arrivals == 0) throw std::logic_error("an arrival at a barrier that was not made");
    if (pending == 0) throw std::logic_error("more arrivals at a barrier than it was made for");
    --pending;
    complete(-expected);
  }
  void complete(std::int64_t come) {
    bytes -= come;
    if (pending != 0 || bytes != 0) return;
    pending = arrivals;
    ++phase;
  }
  bool has_passed(std::uint32_t parity) const { return (phase & 1U) != parity; }
};

struct Box {
  test::HostTensorMap map;
  std::uint32_t destination;
  std::int64_t inner, outer;

  std::int64_t bytes() const { return std::int64_t{map.box_inner} * map.box_outer * map.size; }
};

/// What a barrier learns when it is done: an arrival after copies, or the bytes of a box.
struct Arrival {
  std::vector<Copy> copies;
  std::uint32_t barrier;
  std::optional<Box> box;
};

enum class State { ready, in_exchange, in_wait, at_barrier, done };

struct Fiber {
  ucontext_t context{};
  std::vector<std::byte> stack;
  State state = State::ready;
  std::exception_ptr failure;
  std::vector<std::vector<Copy>> groups;  // of copies, committed ones first
  std::size_t first_pending = 0;
  std::size_t exchanges = 0;
  std::deque<Arrival> arrivals;
  std::uint32_t awaited = 0, parity = 0;  // while in_wait
};

/// What the lanes of a warp have handed over, at this exchange and the one before.
using Exchanged = std::array<std::array<Registers, 32>, 2>;

/// The block that runs; there is one at a time.
struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Exchanged> warps;
  std::map<std::uint32_t, Barrier> barriers;
  ucontext_t scheduler{};
  std::size_t current = 0;
  std::uint32_t shared_bytes = 0;
  const std::function<void()>* thread = nullptr;
};
std::unique_ptr<Block> block;

Fiber& current_fiber() { return *block->fibers[block->current]; }

void run_fiber() {
  Fiber& fiber = current_fiber();
  try {
    (*block->thread)();
  } catch (...) {
    fiber.failure = std::current_exception();
  }
  fiber.state = State::done;
  swapcontext(&fiber.context, &block->scheduler);
}

void start(Fiber& fiber) {
  constexpr std::size_t stack_bytes = 256 * 1024;
  fiber.stack.resize(stack_bytes);
  fiber.state = State::ready;
  fiber.groups.assign(1, {});
  fiber.first_pending = 0;
  fiber.exchanges = 0;
  fiber.arrivals.clear();
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_fiber, 0);
}

std::byte* shared_memory() { return reinterpret_cast<std::byte*>(mgemm_kernel::dynamic_shared); }

void fill_shared_memory(std::mt19937_64& random) {
  // Few draws, but different words: what is there must not matter.
  const auto first = static_cast<std::uint32_t>(random()) | 0x7f800000U;
  auto* const words = reinterpret_cast<std::uint32_t*>(shared_memory());
  for (std::size_t i = 0; i < sizeof mgemm_kernel::dynamic_shared / 4; ++i) {
    words[i] = first + static_cast<std::uint32_t>(i);
  }
}

void check_guard(std::uint32_t shared_bytes, const std::vector<std::byte>& before) {
  if (!std::equal(before.begin(), before.end(), shared_memory() + shared_bytes)) {
    throw std::logic_error("shared memory was written behind its end");
  }
}

/// Lets about half of the warps run, each thread to where it waits or ends, in random order.
void run_phase(std::vector<std::size_t>& order, std::mt19937_64& random) {
  std::ranges::shuffle(order, random);
  const std::uint64_t chosen = random();
  for (const std::size_t index : order) {
    Fiber& fiber = *block->fibers[index];
    if (fiber.state != State::ready || (chosen >> index / 32 & 1U) == 0) continue;
    block->current = index;
    threadIdx.x = static_cast<unsigned>(index);
    swapcontext(&block->scheduler, &fiber.context);
    if (fiber.failure) std::rethrow_exception(fiber.failure);
  }
}

/// Lets the warps go on of which every lane has come to the exchange.
void release_warps() {
  const std::size_t count = block->fibers.size();
  for (std::size_t first = 0; first < count; first += 32) {
    const auto begin = block->fibers.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(32, count - first));
    if (!std::all_of(begin, end, [](const auto& fiber) { return fiber->state == State::in_exchange; })) continue;
    for (auto it = begin; it != end; ++it) (*it)->state = State::ready;
  }
}

/// Lets the threads go on that wait for a phase that has ended.
void release_waiting() {
  for (const auto& fiber : block->fibers) {
    if (fiber->state != State::in_wait) continue;
    if (block->barriers[fiber->awaited].has_passed(fiber->parity)) fiber->state = State::ready;
  }
}

void make(const Copy& copy) {
  std::byte* const to = shared_memory() + copy.destination;
  if (copy.valid > 0) std::memcpy(to, copy.source, static_cast<std::size_t>(copy.valid));
  std::memset(to + copy.valid, 0, static_cast<std::size_t>(copy.bytes - copy.valid));
}

/// As the copy engine does: zeros where the tensor ends, and chunks of 16 bytes permuted by the address.
void make(const Box& box) {
  const auto& map = box.map;
  for (std::uint32_t y = 0; y < map.box_outer; ++y) {
    for (std::uint32_t x = 0; x < map.box_inner; ++x) {
      std::uint32_t to = box.destination + (y * map.box_inner + x) * map.size;
      to ^= (to >> 7U) % (map.spread / 16) << 4U;
      const auto inner = static_cast<std::uint64_t>(box.inner + x);
      const auto outer = static_cast<std::uint64_t>(box.outer + y);
      if (inner < map.inner && outer < map.outer) {
        const auto* const from =
            reinterpret_cast<const std::byte*>(map.address + outer * map.stride + inner * map.size);
        std::memcpy(shared_memory() + to, from, map.size);
      } else {
        std::memset(shared_memory() + to, 0, map.size);
      }
    }
  }
}

/// Makes the oldest pending copies of each thread, or any of its boxes, and the arrival. False if there are none.
bool make_arrivals(std::mt19937_64& random) {
  bool any = false;
  for (const auto& fiber : block->fibers) {
    if (fiber->arrivals.empty()) continue;
    // The copy engine keeps no order.
    const std::size_t chosen = fiber->arrivals.front().box ? random() % fiber->arrivals.size() : 0;
    const Arrival arrival = fiber->arrivals[chosen];
    Barrier& barrier = block->barriers[arrival.barrier];
    for (const Copy& copy : arrival.copies) make(copy);
    if (arrival.box) {
      make(*arrival.box);
      barrier.complete(arrival.box->bytes());
    } else {
      barrier.arrive();
    }
    fiber->arrivals.erase(fiber->arrivals.begin() + static_cast<std::ptrdiff_t>(chosen));
    any = true;
  }
  return any;
}

void run_block(std::mt19937_64& random) {
  block->barriers.clear();
  fill_shared_memory(random);
  const std::byte* const end = shared_memory() + block->shared_bytes;
  const std::vector<std::byte> guard(end, end + 1024);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < block->fibers.size(); ++i) {
    order.push_back(i);
    start(*block->fibers[i]);
  }
  const bool some_early = random() % 2 == 0;
  while (true) {
    run_phase(order, random);
    if (some_early && random() % 8 == 0) make_arrivals(random);  // else as late as they can
    release_warps();
    release_waiting();
    const auto in = [&](State state) {
      return std::ranges::count_if(block->fibers, [&](const auto& fiber) { return fiber->state == state; });
    };
    if (in(State::ready) != 0 || make_arrivals(random)) continue;
    check_guard(block->shared_bytes, guard);
    if (in(State::done) == std::ssize(block->fibers)) return;
    if (in(State::at_barrier) != std::ssize(block->fibers)) {
      throw std::logic_error(std::to_string(in(State::at_barrier)) + " of " + std::to_string(block->fibers.size()) +
                             " threads wait at a barrier that the others do not reach, " +
                             std::to_string(in(State::in_exchange)) + " in an exchange of their warp, " +
                             std::to_string(in(State::in_wait)) + " for a phase of a barrier in shared memory");
    }
    for (const auto& fiber : block->fibers) fiber->state = State::ready;
  }
}

}  // namespace

void run_grid(const Grid& grid, std::mt19937_64& random, const std::function<void()>& thread) {
  block = std::make_unique<Block>();
  block->shared_bytes = grid.shared_bytes;
  block->thread = &thread;
  block->warps.resize((grid.threads + 31) / 32);
  for (std::uint32_t i = 0; i < grid.threads; ++i) block->fibers.push_back(std::make_unique<Fiber>());
  for (blockIdx.x = 0; blockIdx.x < grid.blocks; ++blockIdx.x) run_block(random);
}

void start_copy(std::uint32_t destination, const void* source, int bytes, int valid) {
  const auto size = static_cast<std::uint32_t>(bytes);
  if (destination % size != 0) throw std::logic_error("a copy to shared memory is not aligned");
  if (destination + size > block->shared_bytes) throw std::logic_error("a copy goes past the end of shared memory");
  if (valid < 0 || valid > bytes) throw std::logic_error("a copy of more or less than it has room for");
  if (valid > 0 && reinterpret_cast<std::uintptr_t>(source) % size != 0) {
    throw std::logic_error("a copy from global memory is not aligned");
  }
  current_fiber().groups.back().push_back({destination, source, bytes, valid});
}

void commit_copies() { current_fiber().groups.emplace_back(); }

void wait_for_copies(int pending) {
  Fiber& fiber = current_fiber();
  const std::size_t committed = fiber.groups.size() - 1;
  const auto newest = static_cast<std::size_t>(pending);
  for (; fiber.first_pending + newest < committed; ++fiber.first_pending) {
    for (const Copy& copy : fiber.groups[fiber.first_pending]) make(copy);
    fiber.groups[fiber.first_pending].clear();
  }
}

void init_barrier(std::uint32_t address, std::uint32_t arrivals) {
  if (address % 8 != 0) throw std::logic_error("a barrier is not aligned");
  if (address + 8 > block->shared_bytes) throw std::logic_error("a barrier lies past the end of shared memory");
  block->barriers[address] = {arrivals, arrivals, 0, 0};
}

void arrive(std::uint32_t address) { block->barriers[address].arrive(); }

void arrive_after_copies(std::uint32_t address) {
  Fiber& fiber = current_fiber();
  fiber.arrivals.push_back({std::move(fiber.groups.back()), address, {}});
  fiber.groups.back().clear();
}

void arrive_expecting(std::uint32_t address, std::uint32_t bytes) { block->barriers[address].arrive(bytes); }

void load_box(const test::HostTensorMap& map, std::uint32_t destination, std::uint32_t barrier, int inner, int outer) {
  const Box box{map, destination, inner, outer};
  if (destination % 128 != 0) throw std::logic_error("a box in shared memory is not aligned");
  if (destination + static_cast<std::uint64_t>(box.bytes()) > block->shared_bytes) {
    throw std::logic_error("a box goes past the end of shared memory");
  }
  current_fiber().arrivals.push_back({{}, barrier, box});
}

bool has_passed(std::uint32_t address, std::uint32_t parity) { return block->barriers[address].has_passed(parity); }

void wait_for_barrier(std::uint32_t address, std::uint32_t parity) {
  Fiber& fiber = current_fiber();
  fiber.awaited = address;
  fiber.parity = parity;
  fiber.state = State::in_wait;
  swapcontext(&fiber.context, &block->scheduler);
}

const std::array<Registers, 32>& exchange(const Registers& mine) {
  Fiber& fiber = current_fiber();
  auto& slots = block->warps[block->current / 32][fiber.exchanges++ % 2];
  slots[block->current % 32] = mine;
  fiber.state = State::in_exchange;
  swapcontext(&fiber.context, &block->scheduler);
  return slots;
}

std::uint32_t shared_half(std::uint32_t address) {
  if (address + 2 > block->shared_bytes) throw std::logic_error("a read goes past the end of shared memory");
  std::uint16_t value = 0;
  std::memcpy(&value, shared_memory() + address, sizeof value);
  return value;
}

}  // namespace mgemm::host

void __syncthreads() {
  using namespace mgemm::host;
  Fiber& fiber = current_fiber();
  fiber.state = State::at_barrier;
  swapcontext(&fiber.context, &block->scheduler);
}

void __syncwarp() { mgemm::host::exchange({}); }
