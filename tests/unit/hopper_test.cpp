// How kernels of clusters are laid out over a grid, and what the copy engine is told of their operands.
#include "context/context.hpp"
#include "kernel/describe.hpp"
#include "kernel/tensor_map.hpp"
#include "route/plan.hpp"
#include "support/device_product.hpp"
#include "support/fake_board.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

const KernelRow& row_named(const char* symbol) {
  const KernelRow* const row = find_kernel(symbol);
  REQUIRE(row != nullptr);
  return *row;
}

Contract contract_for(const Problem& problem) { return contract_of(problem, sm90_set); }

// Catches a grid that is no multiple of the cluster, blocks without a tile, and more blocks than can run at a time.
TEST_CASE("blocks that stay for several tiles are no more than tiles or multiprocessors") {
  const KernelRow& pairs = row_named("mgemm_bf16_nn_single_a16_wg128x256");
  const Problem problem = problem_from_string("nn:bf16:300x64x600");  // 2 x 3 pairs of tiles
  const auto layout = [&](std::int32_t multiprocessors) {
    const KernelLaunch launch = describe_grid(pairs, problem, contract_for(problem), multiprocessors);
    return std::pair(launch.grid[0], launch.cluster);
  };
  CHECK(layout(132) == std::pair(12U, 2U));
  CHECK(layout(5) == std::pair(4U, 2U));
  CHECK(layout(1) == std::pair(2U, 2U));
  const KernelRow& alone = row_named("mgemm_bf16_nn_single_a16_pp128x128");
  CHECK(describe_grid(alone, problem, contract_for(problem), 132).grid[0] == 15);
  CHECK(describe_grid(alone, problem, contract_for(problem), 7).grid[0] == 7);
}

// Catches slices that are not those of the contract, and a tile whose slices are in two clusters.
TEST_CASE("a cluster has a block for each slice of a tile") {
  const KernelRow& row = row_named("mgemm_bf16f32_tn_sliced_a16_wg128x80");
  const Problem problem = problem_from_string("tn:bf16:2048x1536x80:out=f32");
  const Contract contract = contract_for(problem);
  REQUIRE(contract.slices.count == 4);
  const KernelLaunch launch = describe_grid(row, problem, contract, 132);
  CHECK(launch.cluster == 4);
  CHECK(launch.grid[0] == 12 * 4);
}

// Catches a map for outputs past whose rows the copy engine would write, or that it cannot write at all.
TEST_CASE("only outputs of whole 16 bytes are stored by the copy engine") {
  const KernelRow& row = row_named("mgemm_bf16_nn_single_a16_wg128x80");
  const auto box = [&](const char* text, std::uint64_t address) {
    return box_of_out(row, problem_from_string(text), address);
  };
  REQUIRE(box("nn:bf16:64x64x88:ldout=96", 4096));
  CHECK(box("nn:bf16:64x64x88:ldout=96", 4096)->line_bytes == 32);
  CHECK(box("nn:bf16:64x64x88:ldout=96", 4096)->lines == 16);
  CHECK_FALSE(box("nn:bf16:64x64x87:ldout=96", 4096));
  CHECK_FALSE(box("nn:bf16:64x64x88:ldout=92", 4096));
  CHECK_FALSE(box("nn:bf16:64x64x88:ldout=96", 4104));
  const Problem floats = problem_from_string("nn:bf16:64x64x88:out=f32:ldout=96");
  CHECK_FALSE(box_of_out(row_named("mgemm_bf16f32_nn_single_a16_wg128x80"), floats, 4096));
}

// Catches boxes of b that overlap, leave columns out, or are larger than the part a block of a cluster brings.
TEST_CASE("columns beyond the longest lines come in boxes of their own") {
  const Problem problem = problem_from_string("nn:bf16:256x256x512");
  const KernelRow& odd = row_named("mgemm_bf16_nn_single_a16_wg128x80");
  CHECK(box_of_b(odd, problem, 4096).line_bytes == 128);
  REQUIRE(box_of_rest(odd, problem, 4096));
  CHECK(box_of_rest(odd, problem, 4096)->line_bytes == 32);
  CHECK(box_of_rest(odd, problem, 4096)->lines == 64);
  const KernelRow& even = row_named("mgemm_bf16_nn_single_a16_wg128x256");
  CHECK_FALSE(box_of_rest(even, problem, 4096));
  CHECK(box_of_b(even, problem, 4096).lines == 32);
  const KernelRow& along = row_named("mgemm_bf16_nt_single_a16_wg128x80");
  CHECK_FALSE(box_of_rest(along, problem_from_string("nt:bf16:256x256x512"), 4096));
}

// Catches a cluster launched as single blocks, and a failure of such a launch that is not reported.
TEST_CASE("kernels of clusters are launched as such") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  Random random(1);
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:bf16:264x64x264"),
                                                    {.row_alignment = 8, .out_alignment = 8});
  const BoundProduct bound(gpu, product);
  const auto context = contexts().lock(gpu.handle());
  const KernelRow& row = row_named("mgemm_bf16_nn_single_a16_wg128x256");
  const Plan plan = make_plan({*context->device, context->cuda, context->cache_directory},
                              check_problem(product.problem), row.alignment, &row);
  board.driver.reset_calls();
  const Work work = bind_work(plan, bound.operands(), context->cuda);
  context->device->enqueue(work, context->stream);
  CHECK(board.driver.calls("cuLaunchKernelEx") == 1);
  CHECK(board.driver.calls("cuLaunchKernel") == 0);
  board.driver.fail_nth("cuLaunchKernelEx", 1, cuda::Result::InvalidClusterSize);
  CHECK_THROWS_AS(context->device->enqueue(work, context->stream), Error);
  KernelLaunch ragged = std::get<KernelLaunch>(work);
  ragged.grid[0] += 1;
  CHECK_THROWS_AS(context->device->enqueue(ragged, context->stream), Error);
}

}  // namespace
