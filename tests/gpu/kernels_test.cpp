// Every kernel of the catalogue by itself, not only where dispatch would choose it.
#include <algorithm>

#include "catalogue/launch_counts.hpp"
#include "context/context.hpp"
#include "gpu/gpu.hpp"
#include "module/loader.hpp"
#include "route/dispatch.hpp"
#include "support/device_product.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

/// A problem that the kernel covers: next to its tile's edges, and a reduction next to its stages'. `whole_columns`
/// makes the output's rows as the copy engine can write them.
mgemm_problem problem_for(Random& random, const KernelRow& row, bool whole_columns) {
  const auto near = [&](std::int64_t tile, std::int64_t most) {
    return std::max<std::int64_t>(1, tile * uniform(random, 1, most) + uniform(random, -1, 1));
  };
  const std::int64_t rows = near(row.tile_rows, 3);
  constexpr std::int64_t unit = 8;
  const std::int64_t any_columns = near(row.tile_columns, 3);
  const std::int64_t columns = whole_columns ? (any_columns + unit - 1) / unit * unit : any_columns;
  std::int64_t depth = near(row.tile_steps, 3 * row.stages);
  if (row.slices != SliceMode::single)
    depth = row.op == Op::tn ? 1024 + uniform(random, 0, 3000) : 513 + uniform(random, 0, 1200);
  mgemm_problem problem = mamba_gemm::make_problem(static_cast<std::int32_t>(row.op), rows, depth, columns,
                                                   static_cast<std::int32_t>(row.in_type));
  problem.out_type = static_cast<std::int32_t>(row.out_type);
  if (row.op == Op::tn) std::swap(problem.m, problem.k);
  if (row.op == Op::nt) std::swap(problem.k, problem.n);
  problem.alpha = random_scalar(random, false);
  problem.beta = random_scalar(random, false);
  problem.bias = row.op == Op::nn ? static_cast<std::int32_t>(uniform(random, 0, 1)) : 0;
  return problem;
}

/// Whether this board has a kernel.
bool is_held(const KernelRow& row) {
  static const Board board = [] {
    const auto gpu = mamba_gemm::Context::cuda();
    return board_of(contexts().lock(gpu.handle())->device->facts());
  }();
  return holds(row, board);
}

std::vector<std::uint32_t> run_forced(const mamba_gemm::Context& handle, const DeviceProduct& product,
                                      const KernelRow& row) {
  const BoundProduct bound(handle, product);
  {
    const auto context = contexts().lock(handle.handle());
    const Plan plan = make_plan({*context->device, context->cuda, context->cache_directory},
                                check_problem(product.problem), row.alignment, &row);
    REQUIRE(plan.kernel == row.symbol.view());
    context->device->enqueue(bind_work(plan, bound.operands(), context->cuda), context->stream);
  }
  return bound.result();
}

/// Holds all kernels that are chosen to the evaluator's bits.
template <typename Chosen>
void check_kernels(const mamba_gemm::Context& reference, Chosen is_chosen) {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const auto gpu = mamba_gemm::Context::cuda();
  for (const KernelRow& row : catalogue()) {
    if (!is_held(row) || !is_chosen(row)) continue;
    const std::uint64_t before = launches_of(number_of(row));
    for (int round = 0; round < rounds(6); ++round) {
      // Kernels with wide copies need aligned rows; the others must do with any.
      ProductOptions options;
      options.exceptional = round % 2 == 1;
      options.row_alignment = row.alignment / size_of(row.in_type);
      options.out_alignment = round % 3 == 2 ? 1 : 8;
      // One of the two may be better aligned, and is then copied in another way.
      if (round == 1) options.a_alignment = 16 / size_of(row.in_type);
      if (round == 2) options.b_alignment = 16 / size_of(row.in_type);
      const DeviceProduct product = make_device_product(random, problem_for(random, row, round % 3 == 0), options);
      CAPTURE(row.symbol.view(), round, mamba_gemm::to_string(product.problem));
      const Contract contract = contract_of(check_problem(product.problem), sm90_set);
      if (!covers(row, check_problem(product.problem), contract, row.alignment)) {
        // The random reduction gave another number of slices than this kernel is for.
        --round;
        continue;
      }
      REQUIRE(run_forced(gpu, product, row) == run_on(reference, product));
    }
    CAPTURE(row.symbol.view());
    CHECK(launches_of(number_of(row)) >= before + static_cast<std::uint64_t>(rounds(6)));
  }
}

}  // namespace

// Catches a kernel that is wrong where dispatch does not send problems today, and one that never ran at all.
TEST_CASE("every kernel of the catalogue gives the evaluator's bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  check_kernels(reference_of_board(), [](const KernelRow&) { return true; });
}

// For racecheck, which does not see that a barrier in shared memory (mbarrier) orders copies: it reports every kernel
// with one, right as it may be.
TEST_CASE("every kernel without barriers in shared memory gives the evaluator's bits", "[.racecheck]") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  // Not the reference of the board: asking for that one qualifies a tensor-core kernel, under racecheck too.
  check_kernels(mamba_gemm::Context::reference(), [](const KernelRow& row) { return row.family == Family::f32_tile; });
}

// Catches two kernels of a contract that differ on the same operands, wherever dispatch may go between them.
TEST_CASE("all kernels that cover a problem give the same bits") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const auto gpu = mamba_gemm::Context::cuda();
  for (const char* text :
       {"nn:f32:70x800x264", "tn:f32:300x136x72", "nt:f32:70x264x500", "nn:bf16:70x808x264:bias:alpha=0.5",
        "nn:bf16:70x808x264:out=f32", "tn:bf16:304x136x72", "tn:bf16:2104x136x72", "nt:bf16:70x264x808",
        "nt:bf16:70x264x808:out=f32:beta=0.5", "nn:f16:70x808x264", "nn:f16:70x808x264:out=f32", "tn:f16:304x136x72",
        "tn:f16:2104x136x72", "nt:f16:70x264x808", "nt:f16:70x264x808:out=f32", "nn:tf32:70x808x264",
        "tn:tf32:304x136x72", "tn:tf32:2104x136x72", "nt:tf32:70x264x808"}) {
    const DeviceProduct product =
        make_device_product(random, mamba_gemm::parse_problem(text), {.row_alignment = 16, .exceptional = true});
    const Problem problem = check_problem(product.problem);
    const Contract contract = contract_of(problem, sm90_set);
    std::vector<std::uint32_t> first;
    int kernels = 0;
    for (const KernelRow& row : catalogue()) {
      if (!is_held(row) || !covers(row, problem, contract, row.alignment)) continue;
      CAPTURE(text, row.symbol.view());
      const std::vector<std::uint32_t> bits = run_forced(gpu, product, row);
      if (kernels++ == 0) first = bits;
      REQUIRE(bits == first);
    }
    CAPTURE(text);
    CHECK(kernels > 1);
  }
}

// Catches spills, kernels that do not fit and wrong bits, which admission and qualification would otherwise only log.
TEST_CASE("no kernel of the catalogue is excluded or broken") {
  if (const char* reason = missing()) MGEMM_SKIP(reason);
  const auto gpu = mamba_gemm::Context::cuda();
  const auto context = contexts().lock(gpu.handle());
  for (const KernelRow& row : catalogue()) {
    if (!is_held(row)) continue;
    CAPTURE(row.symbol.view());
    const LoadedKernel kernel = load_kernel(*context->cuda, row, context->cache_directory);
    CAPTURE(kernel.reason);
    REQUIRE(kernel.state == KernelState::usable);
    REQUIRE(kernel.resources.registers > 0);
  }
}
