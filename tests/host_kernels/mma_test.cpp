// Tensor-core tiles on the host, with mma and ldmatrix lane by lane: what they would catch is a fragment that is loaded
// from the wrong place, a wrong tail or slice, and a chain that is not the contract's.
#include "host_kernels/cuda_on_host.hpp"

#include <cstring>
#include <numeric>

#include "host_kernels/block.hpp"
#include "mma_tile.cuh"
#include "numeric/evaluator.hpp"
#include "support/device_product.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using mgemm_kernel::MmaParams;

/// A tile of one instantiation, and how to launch it.
struct Tile {
  const char* name;
  std::int32_t op, type, out_type;
  std::int64_t rows, columns, steps, stages;
  std::uint32_t threads, shared_bytes;
  std::int64_t alignment;  // bytes
  bool sliced;
  void (*run)(const MmaParams&);
};

template <int OP, int TYPE, int OUT, int BM, int BN, int BK, int STAGES, int WARP_ROWS, int WARP_COLUMNS, int ALIGN,
          bool SLICED>
Tile make_tile(const char* name) {
  using T = mgemm_kernel::MmaTile<OP, TYPE, OUT, BM, BN, BK, STAGES, WARP_ROWS, WARP_COLUMNS, ALIGN, SLICED>;
  return {name, OP, TYPE, OUT, BM, BN, BK, STAGES, T::kThreads, T::kSharedBytes, ALIGN, SLICED, T::run};
}

constexpr int nn = MGEMM_OP_NN;
constexpr int tn = MGEMM_OP_TN;
constexpr int nt = MGEMM_OP_NT;
constexpr int bf16 = MGEMM_TYPE_BF16;
constexpr int f16 = MGEMM_TYPE_F16;
constexpr int f32 = MGEMM_TYPE_F32;

std::vector<Tile> tiles() {
  return {make_tile<nn, bf16, bf16, 128, 128, 32, 4, 2, 4, 16, false>("nn large"),
          make_tile<nn, f16, f32, 64, 64, 64, 3, 2, 2, 16, false>("nn square"),
          make_tile<nn, bf16, f32, 16, 128, 64, 4, 1, 4, 16, false>("nn thin"),
          make_tile<nn, f16, f16, 64, 64, 32, 3, 2, 2, 2, false>("nn unaligned"),
          make_tile<nt, f16, f16, 128, 128, 32, 4, 2, 4, 16, false>("nt large"),
          make_tile<nt, bf16, f32, 64, 64, 64, 3, 2, 2, 2, false>("nt unaligned"),
          make_tile<nt, bf16, bf16, 16, 64, 64, 4, 1, 4, 16, false>("nt thin"),
          make_tile<tn, bf16, f32, 128, 128, 32, 3, 2, 4, 16, true>("tn sliced"),
          make_tile<tn, f16, f32, 64, 64, 32, 4, 2, 2, 16, false>("tn square"),
          make_tile<tn, bf16, f32, 64, 64, 32, 4, 2, 2, 2, true>("tn unaligned")};
}

mgemm_problem problem_for(Random& random, const Tile& tile, std::int64_t depth) {
  const auto extent = [&](std::int64_t of_tile) {
    const std::int64_t kind = uniform(random, 0, 3);
    if (kind == 0) return uniform(random, 1, 2 * of_tile);
    return kind * of_tile / 2 + uniform(random, -1, 1);  // round half a tile, one, one and a half
  };
  const std::int64_t rows = extent(tile.rows);
  const std::int64_t columns = extent(tile.columns);
  mgemm_problem p = tile.op == tn   ? mamba_gemm::make_problem(tn, depth, rows, columns, tile.type)
                    : tile.op == nt ? mamba_gemm::make_problem(nt, rows, columns, depth, tile.type)
                                    : mamba_gemm::make_problem(nn, rows, depth, columns, tile.type);
  p.out_type = tile.out_type;
  p.bias = tile.op == nn ? static_cast<std::int32_t>(uniform(random, 0, 1)) : 0;
  p.alpha = random_scalar(random, false);
  p.beta = random_scalar(random, false);
  return p;
}

/// The output as the kernel leaves it, with everything round it.
GuardedMatrix run_tile(const Tile& tile, const DeviceProduct& product, const Slices& slices, Random& random) {
  const Problem p = check_problem(product.problem);
  GuardedMatrix out = product.out;
  MmaParams arguments{};
  arguments.a = product.a.data();
  arguments.b = product.b.data();
  arguments.bias = p.bias ? static_cast<const float*>(product.bias.data()) : nullptr;
  arguments.out = const_cast<void*>(out.data());
  arguments.rows = output_rows(p);
  arguments.columns = output_columns(p);
  arguments.reduction = reduction(p);
  arguments.lda = p.lda;
  arguments.ldb = p.ldb;
  arguments.ldout = p.ldout;
  arguments.slice_length = slices.length;
  arguments.alpha = p.alpha;
  arguments.beta = p.beta;
  const std::int64_t count =
      ceil_div<std::int64_t>(arguments.rows, tile.rows) * ceil_div<std::int64_t>(arguments.columns, tile.columns);
  host::run_grid({static_cast<std::uint32_t>(count), tile.threads, tile.shared_bytes}, random,
                 [&] { tile.run(arguments); });
  return out;
}

GuardedMatrix evaluated(const DeviceProduct& product, const Slices& slices) {
  const Problem p = check_problem(product.problem);
  GuardedMatrix out = product.out;
  EvaluatorInput input = evaluator_input(p, contract_of(p));
  input.a = product.a.data();
  input.a_strides = strides_a(p);
  input.b = product.b.data();
  input.b_strides = strides_b(p);
  input.bias = p.bias ? static_cast<const float*>(product.bias.data()) : nullptr;
  input.out = const_cast<void*>(out.data());
  input.out_leading = p.ldout;
  input.slices = slices;
  evaluate(input, best_isa(), 1);
  return out;
}

TEST_CASE("tensor-core tiles give the evaluator's bits") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const Tile& tile : tiles()) {
    const std::int64_t all = tile.steps * tile.stages;
    std::vector<std::int64_t> depths{1, 15, 17, tile.steps, all + 16, all + 1, uniform(random, 1, 3 * tile.steps)};
    if (tile.sliced) depths = {65, 127, 128, 3 * 64 + 17, 5 * 64 - 16};
    for (const std::int64_t depth : depths) {
      ProductOptions options;
      options.row_alignment = tile.alignment / 2;
      options.exceptional = depth % 2 == 1;
      const DeviceProduct product = make_device_product(random, problem_for(random, tile, depth), options);
      const Slices slices = tile.sliced ? Slices{ceil_div<std::int64_t>(depth, 64), 64} : Slices{1, depth};
      const GuardedMatrix got = run_tile(tile, product, slices, random);
      CAPTURE(tile.name, mamba_gemm::to_string(product.problem));
      REQUIRE(got.words == evaluated(product, slices).words);
    }
  }
}

}  // namespace
