#include "host_kernels/block.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "host_kernels/cuda_on_host.hpp"
#include "host_kernels/running.hpp"

Index3 threadIdx;
Index3 blockIdx;
Index3 gridDim;

namespace mgemm_kernel {
// As much as any GPU has, and a guard behind it.
alignas(1024) float4 dynamic_shared[(227 * 1024 + 1024) / sizeof(float4)];
}  // namespace mgemm_kernel

namespace mgemm::host {
namespace {

constexpr std::size_t memory_bytes = sizeof mgemm_kernel::dynamic_shared;
constexpr std::size_t guard_bytes = 1024;
constexpr std::uint32_t rank_bit = 24;  // of an address; what is above it is a rank and one

std::unique_ptr<Cluster> cluster;

/// Kept from one grid to the next, for the sake of their stacks.
std::vector<std::unique_ptr<Fiber>> fiber_pool;

std::byte* dynamic_shared() { return reinterpret_cast<std::byte*>(mgemm_kernel::dynamic_shared); }

void run_fiber() {
  Fiber& fiber = cluster->fiber();
  try {
    (*cluster->thread)();
    check_products(fiber);
    check_stores(fiber);
  } catch (...) {
    fiber.failure = std::current_exception();
  }
  ++cluster->block->ended;
  suspend(State::ended);
}

void start(Fiber& fiber) {
  constexpr std::size_t stack_bytes = 256 * 1024;
  std::unique_ptr<std::byte[]> stack = std::move(fiber.stack);
  if (!stack) stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
  fiber = {};
  fiber.stack = std::move(stack);
  fiber.groups.resize(1);
  fiber.stores.resize(1);
  make_context(fiber.context, {fiber.stack.get(), stack_bytes}, run_fiber, cluster->scheduler);
}

void fill_with_words(std::byte* memory, std::mt19937_64& random) {
  // Few draws, but different words: what is there must not matter.
  const auto first = static_cast<std::uint32_t>(random()) | 0x7f800000U;
  for (std::size_t i = 0; i < memory_bytes / 4; ++i) {
    const std::uint32_t word = first + static_cast<std::uint32_t>(i);
    std::memcpy(memory + 4 * i, &word, sizeof word);
  }
}

/// A block at its start; only one that has no cluster gets dynamic_shared.
void start(Block& block, std::uint32_t rank) {
  const Grid& grid = cluster->grid;
  if (grid.cluster > 1) block.own_memory.resize(memory_bytes);
  block.rank = rank;
  block.memory = grid.cluster > 1 ? block.own_memory.data() : dynamic_shared();
  fill_with_words(block.memory, *cluster->random);
  block.guard.assign(block.memory + grid.shared_bytes, block.memory + grid.shared_bytes + guard_bytes);
  block.fibers = cluster->fibers.subspan(std::size_t{rank} * grid.threads, grid.threads);
  for (const auto& fiber : block.fibers) start(*fiber);
  block.warps.assign((grid.threads + 31) / 32, {});
  block.barriers.clear();
  block.hand_over = {};
  block.unpublished.assign(memory_bytes / 4, false);
  block.ended = 0;
}

void check_guards(const std::vector<std::byte>& unused) {
  for (const Block& block : cluster->blocks) {
    if (!std::ranges::equal(block.guard, std::span(block.memory + cluster->grid.shared_bytes, guard_bytes))) {
      throw std::logic_error("shared memory was written behind its end");
    }
  }
  if (!std::equal(unused.begin(), unused.end(), dynamic_shared())) {
    throw std::logic_error("a block of a cluster wrote to dynamic_shared, which it does not own here");
  }
}

/// Now and then, and often at first, lets a block of a cluster fall behind the others.
void choose_resting_block(bool is_first, std::mt19937_64& random) {
  constexpr std::uint64_t most_phases = 64;
  if (cluster->resting_phases > 0) --cluster->resting_phases;
  if (cluster->blocks.size() == 1 || cluster->resting_phases > 0 || random() % (is_first ? 2 : 32) != 0) return;
  cluster->resting_phases = random() % most_phases;
  cluster->resting_rank = random() % cluster->blocks.size();
}

/// Lets about half of the warps run, each thread to where it waits or ends, in random order.
void run_phase(std::vector<std::size_t>& order, std::mt19937_64& random) {
  std::ranges::shuffle(order, random);
  std::vector<std::uint64_t> chosen(cluster->blocks.size());
  std::ranges::generate(chosen, [&] { return random(); });
  if (cluster->resting_phases > 0) chosen[cluster->resting_rank] = 0;
  const std::size_t first_block = blockIdx.x / cluster->grid.cluster * cluster->grid.cluster;
  for (const std::size_t thread : order) {
    const std::size_t rank = thread / cluster->grid.threads;
    const std::size_t index = thread % cluster->grid.threads;
    Fiber& fiber = *cluster->fibers[thread];
    if (fiber.state != State::ready || (chosen[rank] >> index / 32 & 1U) == 0) continue;
    cluster->block = &cluster->blocks[rank];
    cluster->index = index;
    blockIdx.x = static_cast<unsigned>(first_block + rank);
    threadIdx.x = static_cast<unsigned>(index);
    switch_context(cluster->scheduler, fiber.context);
    if (fiber.failure) std::rethrow_exception(fiber.failure);
  }
}

std::ptrdiff_t count(Fibers fibers, State state) {
  return std::ranges::count_if(fibers, [&](const auto& fiber) { return fiber->state == state; });
}

void release(Fibers fibers, State from) {
  for (const auto& fiber : fibers) {
    if (fiber->state == from) fiber->state = State::ready;
  }
}

/// Lets the threads go on for which what they wait for has come.
void release_threads() {
  std::ptrdiff_t at_cluster_barrier = 0;
  std::ptrdiff_t ended = 0;
  for (const Block& block : cluster->blocks) {
    for (std::size_t first = 0; first < block.fibers.size(); first += 32) {
      const Fibers warp = block.fibers.subspan(first, std::min<std::size_t>(32, block.fibers.size() - first));
      if (count(warp, State::in_exchange) == std::ssize(warp)) release(warp, State::in_exchange);
    }
    for (const auto& fiber : block.fibers) {
      if (fiber->state == State::in_wait && fiber->awaited->has_passed(fiber->parity)) fiber->state = State::ready;
    }
    if (count(block.fibers, State::at_barrier) == std::ssize(block.fibers)) release(block.fibers, State::at_barrier);
    at_cluster_barrier += count(block.fibers, State::at_cluster_barrier);
    ended += static_cast<std::ptrdiff_t>(block.ended);
  }
  if (at_cluster_barrier + ended == std::ssize(cluster->fibers)) release(cluster->fibers, State::at_cluster_barrier);
}

void throw_stuck() {
  const auto in = [](State state) { return std::to_string(count(cluster->fibers, state)); };
  throw std::logic_error(in(State::at_barrier) + " of " + std::to_string(cluster->fibers.size()) +
                         " threads wait at a barrier that the others do not reach, " + in(State::at_cluster_barrier) +
                         " at the cluster's, " + in(State::in_exchange) + " in an exchange of their warp, " +
                         in(State::in_wait) + " for a phase of a barrier in shared memory");
}

void run_cluster() {
  std::mt19937_64& random = *cluster->random;
  for (std::uint32_t rank = 0; rank < cluster->grid.cluster; ++rank) start(cluster->blocks[rank], rank);
  const std::vector<std::byte> unused(dynamic_shared(),
                                      dynamic_shared() + (cluster->grid.cluster > 1 ? memory_bytes : 0));
  std::vector<std::size_t> order(cluster->fibers.size());
  std::ranges::generate(order, [next = std::size_t{0}]() mutable { return next++; });
  cluster->some_early = random() % 2 == 0;
  cluster->product_time = static_cast<ProductTime>(random() % 3);
  for (bool is_first = true;; is_first = false) {
    choose_resting_block(is_first, random);
    run_phase(order, random);
    if (cluster->some_early && random() % 8 == 0) make_arrivals(random);  // else as late as they can
    release_threads();
    if (count(cluster->fibers, State::ready) != 0 || make_arrivals(random)) continue;
    check_guards(unused);
    if (count(cluster->fibers, State::ended) == std::ssize(cluster->fibers)) return;
    throw_stuck();
  }
}

}  // namespace

Cluster& running() { return *cluster; }

void suspend(State state) {
  Fiber& fiber = cluster->fiber();
  fiber.state = state;
  switch_context(fiber.context, cluster->scheduler);
}

void run_grid(const Grid& grid, std::mt19937_64& random, const std::function<void()>& thread) {
  if (grid.cluster == 0 || grid.blocks % grid.cluster != 0) throw std::logic_error("a grid is not of whole clusters");
  if (grid.shared_bytes + guard_bytes > memory_bytes) throw std::logic_error("a block has not got so much memory");
  cluster = std::make_unique<Cluster>();
  cluster->grid = grid;
  cluster->random = &random;
  cluster->thread = &thread;
  cluster->blocks.resize(grid.cluster);
  const std::size_t threads = std::size_t{grid.cluster} * grid.threads;
  while (fiber_pool.size() < threads) fiber_pool.push_back(std::make_unique<Fiber>());
  cluster->fibers = std::span(fiber_pool).first(threads);
  gridDim.x = grid.blocks;
  for (std::uint32_t first = 0; first < grid.blocks; first += grid.cluster) {
    blockIdx.x = first;
    run_cluster();
  }
}

const std::array<Registers, 32>& exchange(const Registers& mine) {
  auto& slots = cluster->warp().exchanged[cluster->fiber().exchanges++ % 2];
  slots[cluster->index % 32] = mine;
  suspend(State::in_exchange);
  return slots;
}

Place place_of(std::uint32_t address, std::uint32_t bytes) {
  const std::uint32_t rank = address >> rank_bit;
  const std::uint32_t offset = address & ((1U << rank_bit) - 1);
  if (rank > cluster->blocks.size()) throw std::logic_error("an address in a block that is not there");
  Block& block = rank == 0 ? *cluster->block : cluster->blocks[rank - 1];
  if (block.has_ended()) throw std::logic_error("a block is reached after its end");
  if (std::uint64_t{offset} + bytes > cluster->grid.shared_bytes) {
    throw std::logic_error("an address past the end of shared memory");
  }
  return {block, offset};
}

std::uint32_t shared_half(std::uint32_t address) {
  std::uint16_t value = 0;
  read_shared(address, &value, sizeof value);
  return value;
}

void read_shared(std::uint32_t address, void* to, std::uint32_t bytes) {
  if (address % bytes != 0) throw std::logic_error("a read from shared memory is not aligned");
  std::memcpy(to, place_of(address, bytes).memory(), bytes);
}

void write_shared(std::uint32_t address, const void* from, std::uint32_t bytes) {
  if (address % bytes != 0) throw std::logic_error("a write to shared memory is not aligned");
  const Place place = place_of(address, bytes);
  std::memcpy(place.memory(), from, bytes);
  if (&place.block != cluster->block) return;
  for (std::uint32_t word = place.offset / 4; word < (place.offset + bytes) / 4; ++word) {
    if (!place.block.unpublished[word]) cluster->fiber().unpublished.push_back(word);
    place.block.unpublished[word] = true;
  }
}

std::uint32_t cluster_rank() { return cluster->block->rank; }
std::uint32_t cluster_size() { return cluster->grid.cluster; }
void sync_cluster() { suspend(State::at_cluster_barrier); }

std::uint32_t address_in_block(std::uint32_t address, std::uint32_t rank) {
  if (rank >= cluster_size()) throw std::logic_error("an address in a block that is not there");
  return (address & ((1U << rank_bit) - 1)) | (rank + 1) << rank_bit;
}

}  // namespace mgemm::host

void __syncthreads() { mgemm::host::suspend(mgemm::host::State::at_barrier); }

void __syncwarp() { mgemm::host::exchange({}); }

unsigned __shfl_xor_sync(unsigned lanes, unsigned value, int mask) {
  if (lanes != 0xffffffffU) throw std::logic_error("an exchange of less than a warp");
  return mgemm::host::exchange({value})[threadIdx.x % 32 ^ static_cast<unsigned>(mask)][0];
}
