// Runs thread blocks of kernels on the host, each CUDA thread as a fiber of its own that is left only where it waits.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <random>

#include "support/tensor_map.hpp"

namespace mgemm::host {

/// A grid of one dimension.
struct Grid {
  std::uint32_t blocks = 0, threads = 0, shared_bytes = 0;
};

/// Runs `thread` once for every thread, block after block, up to 64 warps each. Warps and threads take turns in random
/// order, some warps ahead of others, and shared memory is filled with random words first, so that a missing barrier or
/// copy shows. Throws
/// std::logic_error where a GPU would hang or fault: a barrier that not every thread reaches, a copy that is not
/// aligned or lies outside shared memory.
void run_grid(const Grid& grid, std::mt19937_64& random, const std::function<void()>& thread);

// For kernels, on behalf of the thread that runs.
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
/// Whether the latest phase whose number has this parity has ended.
bool has_passed(std::uint32_t address, std::uint32_t parity);
/// Until the end of the latest phase whose number has this parity.
void wait_for_barrier(std::uint32_t address, std::uint32_t parity);
/// What each lane of the warp hands over at the same call, once all of them have. Good until the next call but one.
using Registers = std::array<std::uint32_t, 6>;
const std::array<Registers, 32>& exchange(const Registers& mine);
/// The 16 bits at an address in shared memory.
std::uint32_t shared_half(std::uint32_t address);

}  // namespace mgemm::host
