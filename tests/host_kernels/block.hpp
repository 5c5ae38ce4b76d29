// Runs thread blocks of kernels on the host, each CUDA thread as a fiber of its own that is left only where it waits.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <random>

#include "support/tensor_map.hpp"

namespace mgemm::host {

/// A grid of one dimension, of clusters of so many blocks.
struct Grid {
  std::uint32_t blocks = 0, threads = 0, shared_bytes = 0;
  std::uint32_t cluster = 1;
};

/// Runs `thread` once for every thread, cluster after cluster, up to 64 warps a block. Warps and threads take turns in
/// random order, some warps ahead of others, and shared memory is filled with random words first, so that a missing
/// barrier or copy shows. Throws std::logic_error where a GPU would hang or fault: a barrier that not every thread
/// reaches, a copy that is not aligned or lies outside shared memory, a block that is reached after its end.
///
/// Pointers into dynamic_shared are good only in blocks without a cluster; the blocks of one have memory of their own,
/// which is reached by address.
void run_grid(const Grid& grid, std::mt19937_64& random, const std::function<void()>& thread);

// For kernels, on behalf of the thread that runs. Addresses are of its block's shared memory, or from
// address_in_block().
void start_copy(std::uint32_t destination, const void* source, int bytes, int valid);
void commit_copies();
/// Makes the copies of all but the newest `pending` committed groups.
void wait_for_copies(int pending);
/// A barrier at an address in shared memory, whose phases end after so many arrivals.
void init_barrier(std::uint32_t address, std::uint32_t arrivals);
void arrive(std::uint32_t address);
/// Arrives when all copies that the thread has started are made.
void arrive_after_copies(std::uint32_t address);
/// Arrives at a barrier whose phase then lasts until so many bytes of boxes have come.
void arrive_expecting(std::uint32_t address, std::uint32_t bytes);
/// Starts the copy of a box at (inner, outer), which tells the barrier of its bytes.
void load_box(const test::HostTensorMap& map, std::uint32_t destination, std::uint32_t barrier, int inner, int outer);
/// Starts the copy of a box from shared memory, of which every word must have been published by the thread that wrote
/// it.
void store_box(const test::HostTensorMap& map, std::uint32_t source, int inner, int outer);
void commit_stores();
/// Until all but the newest `pending` committed groups of boxes have been read.
void wait_for_stores(int pending);
/// What the thread has written by write_shared() may be stored as a box.
void publish_to_boxes();
/// Whether the latest phase whose number has this parity has ended.
bool has_passed(std::uint32_t address, std::uint32_t parity);
/// Until the end of the latest phase whose number has this parity.
void wait_for_barrier(std::uint32_t address, std::uint32_t parity);
/// A barrier that is there from the start, of so many threads and one phase.
void arrive_at_hand_over(std::uint32_t threads);
void wait_for_hand_over();
/// What each lane of the warp hands over at the same call, once all of them have. Good until the next call but one.
using Registers = std::array<std::uint32_t, 6>;
const std::array<Registers, 32>& exchange(const Registers& mine);
/// The 16 bits at an address in shared memory.
std::uint32_t shared_half(std::uint32_t address);
/// Words of shared memory, which lie at a multiple of their size.
void read_shared(std::uint32_t address, void* to, std::uint32_t bytes);
void write_shared(std::uint32_t address, const void* from, std::uint32_t bytes);

// What the blocks of a cluster do together.
std::uint32_t cluster_rank();
std::uint32_t cluster_size();
/// Until all threads of the cluster that have not ended are here.
void sync_cluster();
/// The address in the block of that rank that is `address` in one's own.
std::uint32_t address_in_block(std::uint32_t address, std::uint32_t rank);
/// load_box() to the same address in every block whose bit is set in `blocks`, each at a time of its own; the barrier
/// at the same address there learns of it.
void load_box_for_all(const test::HostTensorMap& map, std::uint32_t destination, std::uint32_t barrier, int inner,
                      int outer, std::uint32_t blocks);

}  // namespace mgemm::host
