// What the emulation finds of boxes that the copy engine takes from shared memory.
#include <array>
#include <bit>
#include <functional>
#include <random>
#include <stdexcept>

#include "shared_memory.cuh"
#include "tensor_copy.cuh"

#include "host_kernels/block.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm_kernel;

/// 3 x `columns` floats, in rows of 8, and what lies behind; boxes of 2 x 8.
struct Output {
  alignas(16) std::array<float, 32> values{};

  TensorMap map(std::uint64_t columns = 4) {
    const test::HostTensorMap made{reinterpret_cast<std::uint64_t>(values.data()), columns, 3, 32, 8, 2, 4, 16, {}};
    return std::bit_cast<TensorMap>(made);
  }
};

void run(std::uint64_t seed, const std::function<void()>& thread) {
  std::mt19937_64 random(seed);
  host::run_grid({1, 1, 128}, random, thread);
}

void write(float first) {
  for (unsigned i = 0; i < 8; ++i)
    store_pair(8 * i, first + static_cast<float>(2 * i), first + static_cast<float>(2 * i + 1));
}

TEST_CASE("a box is stored by the time of the wait, as far as the tensor goes") {
  int early = 0;
  int late = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Output output;
    const TensorMap map = output.map();
    run(seed, [&] {
      write(1);
      publish_to_copies();
      tensor_store(map, 0, 0, 2);
      stores_commit();
      stores_commit();
      stores_wait<1>();
      CHECK(output.values[16] == 1);
      CHECK(output.values[16 + 3] == 4);
      CHECK(output.values[16 + 4] == 0);
      CHECK(output.values[24] == 0);
      tensor_store(map, 0, 0, 0);
      stores_commit();
      write(100);
      stores_wait<0>();
    });
    (output.values[0] == 1 ? early : late) += 1;
    CHECK((output.values[0] == 1 || output.values[0] == 100));
  }
  CHECK(early > 0);
  CHECK(late > 0);
}

TEST_CASE("the host finds boxes that are stored wrongly") {
  Output output;
  const TensorMap map = output.map();
  const auto store = [&](bool publishes, bool waits) {
    run(1, [&] {
      write(1);
      if (publishes) publish_to_copies();
      tensor_store(map, 0, 0, 0);
      stores_commit();
      if (waits) stores_wait<0>();
    });
  };
  CHECK_NOTHROW(store(true, true));
  CHECK_THROWS_AS(store(false, true), std::logic_error);
  CHECK_THROWS_AS(store(true, false), std::logic_error);
  const TensorMap ragged = output.map(6);
  CHECK_THROWS_AS(run(1,
                      [&] {
                        write(1);
                        publish_to_copies();
                        tensor_store(ragged, 0, 0, 0);
                      }),
                  std::logic_error);
}

}  // namespace
