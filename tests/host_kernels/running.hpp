// The blocks of the cluster that runs, for the files that emulate instructions.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "host_kernels/barrier.hpp"
#include "host_kernels/block.hpp"
#include "host_kernels/context.hpp"
#include "host_kernels/wgmma.hpp"

namespace mgemm::host {

struct Copy {
  std::uint32_t destination;
  const void* source;
  int bytes, valid;
};

struct Box {
  test::HostTensorMap map;
  std::uint32_t place;  // in shared memory
  std::int64_t inner, outer;

  std::int64_t bytes() const { return std::int64_t{map.box_inner} * map.box_outer * map.size; }
};

struct Block;

/// What a block's barrier learns when it is done: an arrival after copies, or the bytes of a box.
struct Arrival {
  std::vector<Copy> copies;
  std::optional<Box> box;
  Block* block;
  std::uint32_t barrier;
};

enum class State { ready, in_exchange, in_wait, at_barrier, at_cluster_barrier, ended };

/// A thread.
struct Fiber {
  Context context;
  std::unique_ptr<std::byte[]> stack;
  State state = State::ready;
  std::exception_ptr failure;
  std::size_t exchanges = 0;
  const Barrier* awaited = nullptr;  // while in_wait
  std::uint32_t parity = 0;
  // Copies.
  std::vector<std::vector<Copy>> groups;  // committed ones first
  std::size_t first_pending = 0;
  std::deque<Arrival> arrivals;
  // Boxes to be stored, in groups likewise; and words of shared memory that boxes may not have seen.
  std::vector<std::vector<Box>> stores;
  std::size_t first_unread = 0;
  std::vector<std::uint32_t> unpublished;
  // Products of its warp: how many it has asked for, waited for, and at the ends of committed groups.
  std::size_t products = 0, awaited_products = 0;
  std::vector<std::size_t> product_groups;
  bool fenced = false;
};

using Fibers = std::span<const std::unique_ptr<Fiber>>;

/// A product that the lanes of a warp have asked for, with the sums of those that have so far.
struct WarpProduct {
  ProductShape shape;
  std::uint64_t a, b;
  std::array<float*, 32> sums;
  std::size_t lanes;
  std::array<std::array<std::uint32_t, 4>, 32> a_words;  // of the lanes, if a is in registers
};

struct Warp {
  std::array<std::array<Registers, 32>, 2> exchanged;  // at this exchange and the one before
  std::deque<WarpProduct> products;                    // not done yet
  std::size_t done = 0;
};

struct Block {
  std::uint32_t rank = 0;
  std::byte* memory = nullptr;
  std::vector<std::byte> own_memory;  // of a cluster's block
  std::vector<std::byte> guard;       // what lay behind the shared memory at first
  Fibers fibers;
  std::vector<Warp> warps;
  std::map<std::uint32_t, Barrier> barriers;
  Barrier hand_over;              // whoever arrives first says for how many
  std::vector<bool> unpublished;  // words of memory
  std::size_t ended = 0;          // threads

  bool has_ended() const { return ended == fibers.size(); }
};

struct Cluster {
  Grid grid;
  std::vector<Block> blocks;
  Fibers fibers;  // of all blocks
  Context scheduler;
  std::mt19937_64* random = nullptr;
  const std::function<void()>* thread = nullptr;
  bool some_early = false;  // boxes; else all as late as they can
  ProductTime product_time = ProductTime::late;
  std::uint64_t resting_phases = 0, resting_rank = 0;  // of a block that is left out for a while
  // What runs.
  Block* block = nullptr;
  std::size_t index = 0;  // of the thread in it

  Fiber& fiber() const { return *block->fibers[index]; }
  Warp& warp() const { return block->warps[index / 32]; }
};
Cluster& running();

/// Leaves the thread that runs until its state is ready again.
void suspend(State state);

/// So many bytes of shared memory, of a block that has not ended.
struct Place {
  Block& block;
  std::uint32_t offset;

  std::byte* memory() const { return block.memory + offset; }
};
Place place_of(std::uint32_t address, std::uint32_t bytes);

/// Makes the oldest pending copies of each thread, or any of its boxes, and the arrival. False if there are none.
bool make_arrivals(std::mt19937_64& random);

/// Throws if a thread ends before its boxes have been read.
void check_stores(const Fiber& fiber);
/// Throws if a thread ends without having waited for its products.
void check_products(const Fiber& fiber);

}  // namespace mgemm::host
