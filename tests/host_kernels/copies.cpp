// Copies to shared memory, the copy engine's boxes, and the barriers that learn of them.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "host_kernels/running.hpp"
#include "numeric/element.hpp"

namespace mgemm::host {
namespace {

constexpr std::uint32_t chunk_bytes = 16;

void make(const Copy& copy) {
  std::byte* const to = place_of(copy.destination, static_cast<std::uint32_t>(copy.bytes)).memory();
  if (copy.valid > 0) std::memcpy(to, copy.source, static_cast<std::size_t>(copy.valid));
  std::memset(to + copy.valid, 0, static_cast<std::size_t>(copy.bytes - copy.valid));
}

/// Calls `visit` for 16 bytes of a box after the other: where they lie in shared memory, permuted by the address as the
/// copy engine does it, and of those elements that exist their address and number.
template <typename Visit>
void for_each_chunk(const Box& box, Visit visit) {
  const test::HostTensorMap& map = box.map;
  const std::uint32_t chunk = chunk_bytes / map.size;
  for (std::uint32_t y = 0; y < map.box_outer; ++y) {
    for (std::uint32_t x = 0; x < map.box_inner; x += chunk) {
      std::uint32_t place = box.place + (y * map.box_inner + x) * map.size;
      place ^= (place >> 7U) % (map.spread / chunk_bytes) << 4U;
      // A coordinate below 0 is far beyond the end.
      const auto inner = static_cast<std::uint64_t>(box.inner + x);
      const auto outer = static_cast<std::uint64_t>(box.outer + y);
      const bool exists = inner < map.inner && outer < map.outer;
      const std::uint64_t count = exists ? std::min<std::uint64_t>(chunk, map.inner - inner) : 0;
      const std::uint64_t address = exists ? map.address + outer * map.stride + inner * map.size : 0;
      visit(place, reinterpret_cast<std::byte*>(address), count * map.size);
    }
  }
}

/// Measured on an H200: to nearest even, and a NaN becomes 0x7fffe000.
void round_words(std::byte* chunk) {
  for (std::uint32_t i = 0; i < chunk_bytes; i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, chunk + i, sizeof word);
    word = (word & 0x7fffffffU) > 0x7f800000U ? 0x7fffe000U : round_to_tf32(word) & ~0x1fffU;
    std::memcpy(chunk + i, &word, sizeof word);
  }
}

void load(const Box& box, std::byte* memory) {
  for_each_chunk(box, [&](std::uint32_t place, const std::byte* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(memory + place, from, bytes);
    std::memset(memory + place + bytes, 0, chunk_bytes - bytes);
    if (box.map.rounds_to_tf32 != 0) round_words(memory + place);
  });
}

void store(const Box& box, const std::byte* memory) {
  for_each_chunk(box, [&](std::uint32_t place, std::byte* to, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, memory + place, bytes);
  });
}

Barrier& barrier_at(std::uint32_t address) {
  const Place place = place_of(address, 8);
  const auto found = place.block.barriers.find(place.offset);
  if (found == place.block.barriers.end()) throw std::logic_error("there is no barrier where one is used");
  return found->second;
}

void complete(const Arrival& arrival) {
  for (const Copy& copy : arrival.copies) make(copy);
  if (arrival.block->has_ended()) throw std::logic_error("a copy comes to a block that has ended");
  if (arrival.box) {
    load(*arrival.box, arrival.block->memory);
    arrival.block->barriers.at(arrival.barrier).complete(arrival.box->bytes());
  } else {
    arrival.block->barriers.at(arrival.barrier).arrive();
  }
}

}  // namespace

bool make_arrivals(std::mt19937_64& random) {
  bool any = false;
  for (Block& block : running().blocks) {
    running().block = &block;
    for (const auto& fiber : block.fibers) {
      if (fiber->arrivals.empty()) continue;
      // The copy engine keeps no order.
      const std::size_t chosen = fiber->arrivals.front().box ? random() % fiber->arrivals.size() : 0;
      const auto arrival = fiber->arrivals.begin() + static_cast<std::ptrdiff_t>(chosen);
      complete(*arrival);
      fiber->arrivals.erase(arrival);
      any = true;
    }
  }
  return any;
}

void start_copy(std::uint32_t destination, const void* source, int bytes, int valid) {
  const auto size = static_cast<std::uint32_t>(bytes);
  if (destination % size != 0) throw std::logic_error("a copy to shared memory is not aligned");
  place_of(destination, size);
  if (valid < 0 || valid > bytes) throw std::logic_error("a copy of more or less than it has room for");
  if (valid > 0 && reinterpret_cast<std::uintptr_t>(source) % size != 0) {
    throw std::logic_error("a copy from global memory is not aligned");
  }
  running().fiber().groups.back().push_back({destination, source, bytes, valid});
}

void commit_copies() { running().fiber().groups.emplace_back(); }

void wait_for_copies(int pending) {
  Fiber& fiber = running().fiber();
  const std::size_t committed = fiber.groups.size() - 1;
  const auto newest = static_cast<std::size_t>(pending);
  for (; fiber.first_pending + newest < committed; ++fiber.first_pending) {
    for (const Copy& copy : fiber.groups[fiber.first_pending]) make(copy);
    fiber.groups[fiber.first_pending].clear();
  }
}

void init_barrier(std::uint32_t address, std::uint32_t arrivals) {
  if (address % 8 != 0) throw std::logic_error("a barrier is not aligned");
  const Place place = place_of(address, 8);
  place.block.barriers[place.offset] = {arrivals, arrivals, 0, 0};
}

void arrive(std::uint32_t address) { barrier_at(address).arrive(); }

void arrive_after_copies(std::uint32_t address) {
  barrier_at(address);
  Fiber& fiber = running().fiber();
  fiber.arrivals.push_back({std::move(fiber.groups.back()), {}, running().block, address});
  fiber.groups.back().clear();
}

void arrive_expecting(std::uint32_t address, std::uint32_t bytes) { barrier_at(address).arrive(bytes); }

void load_box(const test::HostTensorMap& map, std::uint32_t destination, std::uint32_t barrier, int inner, int outer) {
  load_box_for_all(map, destination, barrier, inner, outer, 1U << running().block->rank);
}

void load_box_for_all(const test::HostTensorMap& map, std::uint32_t destination, std::uint32_t barrier, int inner,
                      int outer, std::uint32_t blocks) {
  if (blocks == 0 || blocks >> cluster_size() != 0) throw std::logic_error("a box for a block that is not there");
  const Box box{map, destination, inner, outer};
  if (destination % 128 != 0) throw std::logic_error("a box in shared memory is not aligned");
  for (Block& block : running().blocks) {
    if ((blocks >> block.rank & 1U) == 0) continue;
    place_of(address_in_block(destination, block.rank), static_cast<std::uint32_t>(box.bytes()));
    barrier_at(address_in_block(barrier, block.rank));
    running().fiber().arrivals.push_back({{}, box, &block, barrier});
  }
}

void store_box(const test::HostTensorMap& map, std::uint32_t source, int inner, int outer) {
  Cluster& cluster = running();
  const Box box{map, source, inner, outer};
  if (source % 128 != 0) throw std::logic_error("a box in shared memory is not aligned");
  // Measured on an H200.
  if (map.inner * map.size % 16 != 0) throw std::logic_error("the copy engine writes past the end of such rows");
  place_of(source, static_cast<std::uint32_t>(box.bytes()));
  for (std::uint32_t word = source / 4; word < (source + box.bytes()) / 4; ++word) {
    if (cluster.block->unpublished[word]) throw std::logic_error("a box is stored that has not been published");
  }
  if (cluster.some_early && (*cluster.random)() % 2 == 0) {
    store(box, cluster.block->memory);
  } else {
    cluster.fiber().stores.back().push_back(box);
  }
}

void commit_stores() { running().fiber().stores.emplace_back(); }

void wait_for_stores(int pending) {
  Fiber& fiber = running().fiber();
  const std::size_t committed = fiber.stores.size() - 1;
  const auto newest = static_cast<std::size_t>(pending);
  for (; fiber.first_unread + newest < committed; ++fiber.first_unread) {
    for (const Box& box : fiber.stores[fiber.first_unread]) store(box, running().block->memory);
    fiber.stores[fiber.first_unread].clear();
  }
}

void publish_to_boxes() {
  Fiber& fiber = running().fiber();
  for (const std::uint32_t word : fiber.unpublished) running().block->unpublished[word] = false;
  fiber.unpublished.clear();
}

void check_stores(const Fiber& fiber) {
  const bool any_uncommitted = !fiber.stores.back().empty();
  if (any_uncommitted || fiber.first_unread + 1 != fiber.stores.size()) {
    throw std::logic_error("a thread ends before its boxes have been read");
  }
}

bool has_passed(std::uint32_t address, std::uint32_t parity) { return barrier_at(address).has_passed(parity); }

void wait_for_barrier(std::uint32_t address, std::uint32_t parity) {
  Fiber& fiber = running().fiber();
  fiber.awaited = &barrier_at(address);
  fiber.parity = parity;
  suspend(State::in_wait);
}

void arrive_at_hand_over(std::uint32_t threads) {
  Barrier& barrier = running().block->hand_over;
  if (barrier.arrivals == 0) barrier = {threads, threads, 0, 0};
  if (barrier.arrivals != threads || barrier.phase != 0) throw std::logic_error("a hand-over for other threads");
  barrier.arrive();
}

void wait_for_hand_over() {
  Fiber& fiber = running().fiber();
  fiber.awaited = &running().block->hand_over;
  fiber.parity = 0;
  suspend(State::in_wait);
}

}  // namespace mgemm::host
