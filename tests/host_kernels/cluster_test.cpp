// What the emulation of thread-block clusters finds.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "cluster.cuh"
#include "mbarrier.cuh"
#include "tensor_copy.cuh"

#include "host_kernels/block.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm_kernel;

constexpr unsigned shared_bytes = 1024;
constexpr unsigned barrier = 512;

void run(const std::function<void()>& thread, std::uint64_t seed = 1, std::uint32_t blocks = 2) {
  std::mt19937_64 random(seed);
  host::run_grid({blocks, 32, shared_bytes, 2}, random, thread);
}

/// Long enough for all that others do meanwhile.
void linger() {
  for (int i = 0; i < 200; ++i) __syncwarp();
}

/// 32 x 8 floats, a box of 8 x 8 of which is copied.
struct Source {
  alignas(16) std::array<float, 256> values{};
  TensorMap map;

  Source() {
    std::iota(values.begin(), values.end(), 1.0F);
    const test::HostTensorMap made{reinterpret_cast<std::uint64_t>(values.data()), 8, 32, 32, 8, 8, 4, 16, {}};
    map = std::bit_cast<TensorMap>(made);
  }
};

TEST_CASE("the blocks of a cluster have memory of their own and reach each other's") {
  std::vector<float> read(4);
  run(
      [&] {
        const unsigned rank = cluster_rank();
        if (threadIdx.x == 0) store_pair(8, static_cast<float>(blockIdx.x), 5);
        cluster_sync();
        if (threadIdx.x == 0) read[blockIdx.x] = load_pair_in_block(8, 1 - rank).x;
        cluster_sync();
      },
      1, 4);
  CHECK(read == std::vector<float>{1, 0, 3, 2});
}

TEST_CASE("a block that ends while others reach it is found") {
  const auto other_reads = [](bool stays) {
    run([=] {
      if (cluster_rank() == 0) {
        linger();
        load_pair_in_block(8, 1);
      }
      if (stays) cluster_sync();
    });
  };
  CHECK_NOTHROW(other_reads(true));
  CHECK_THROWS_AS(other_reads(false), std::logic_error);
  const auto other_arrives = [](bool stays) {
    run([=] {
      if (threadIdx.x == 0) barrier_init(barrier, 32);
      cluster_sync();
      if (cluster_rank() == 0) {
        linger();
        barrier_arrive_in_block(barrier, 1);
      }
      if (stays) cluster_sync();
    });
  };
  CHECK_NOTHROW(other_arrives(true));
  CHECK_THROWS_AS(other_arrives(false), std::logic_error);
}

TEST_CASE("the host finds a cluster that would hang or fault") {
  // Threads that have ended are not waited for, others are.
  CHECK_NOTHROW(run([] {
    if (threadIdx.x != 7) cluster_sync();
  }));
  CHECK_THROWS_AS(run([] {
                    if (threadIdx.x == 0) barrier_init(barrier, 1);
                    __syncwarp();
                    cluster_rank() == 0 ? cluster_sync() : barrier_wait(barrier, 0);
                  }),
                  std::logic_error);
  CHECK_THROWS_AS(run([] { load_pair_in_block(8, 2); }), std::logic_error);
  CHECK_THROWS_AS(run([] { load_pair_in_block(shared_bytes, 0); }), std::logic_error);
  CHECK_THROWS_AS(run([] { store_pair(4, 0, 0); }), std::logic_error);
  CHECK_THROWS_AS(run([] { barrier_arrive_in_block(barrier, 1); }), std::logic_error);
  CHECK_THROWS_AS(run([] { dynamic_shared[3].x += 1; }), std::logic_error);
  CHECK_THROWS_AS(run([] {}, 1, 3), std::logic_error);
}

/// Block 0 loads a box for both, whose bytes block 1 announces when they have long come.
void load_for_all(const Source& source, std::uint64_t seed, std::vector<float>& got) {
  run(
      [&] {
        if (threadIdx.x == 0) barrier_init(barrier, 1);
        cluster_sync();
        if (cluster_rank() == 0 && threadIdx.x == 0) tensor_load_for_all(source.map, 128, barrier, 0, 8, 3);
        if (cluster_rank() == 1) linger();
        if (threadIdx.x == 0) barrier_expect(barrier, 256);
        barrier_wait(barrier, 0);
        got[cluster_rank()] = load_four(128 + 16 * 15).w;
        cluster_sync();
      },
      seed);
}

TEST_CASE("a box for all comes to each block and its barrier") {
  const Source source;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<float> got(2);
    load_for_all(source, seed, got);
    CHECK(got == std::vector<float>{128, 128});
  }
  CHECK_THROWS_AS(run([&] { tensor_load_for_all(source.map, 128, barrier, 0, 0, 7); }), std::logic_error);
}

}  // namespace
