#include "catalogue/catalogue.hpp"

#include <fstream>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "catalogue/targets.hpp"
#include "compile/module_text.hpp"
#include "compile/source_identity.hpp"
#include "kernel/describe.hpp"
#include "route/dispatch.hpp"
#include "support/captured_log.hpp"
#include "support/child.hpp"
#include "support/raises.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

Problem random_problem(Random& random) {
  Problem p;
  p.op = static_cast<Op>(uniform(random, 1, 3));
  p.in_type = type_names.at(static_cast<size_t>(uniform(random, 0, 3))).first;
  p.out_type = uniform(random, 0, 1) == 0 ? default_out_type(p.op, p.in_type) : Type::f32;
  p.m = uniform(random, 1, 1 << uniform(random, 0, 16));
  p.k = uniform(random, 1, 1 << uniform(random, 0, 16));
  p.n = uniform(random, 1, 1 << uniform(random, 0, 16));
  p.lda = layout_a(p).columns;
  p.ldb = layout_b(p).columns;
  p.ldout = output_columns(p);
  return p;
}

// An H200, an A100 and a board of sm_86.
constexpr std::array boards{Board{132, kibibytes(227), true, true}, Board{108, kibibytes(163), false, false},
                            Board{84, kibibytes(99), false, false}};

}  // namespace

// Catches two rows that would be one symbol, and rows that no board could run.
TEST_CASE("catalogue rows have names of their own and fit a board") {
  std::set<std::string_view> symbols;
  for (const KernelRow& row : catalogue()) {
    CAPTURE(row.symbol.view());
    REQUIRE(symbols.insert(row.symbol.view()).second);
    REQUIRE(holds(row, boards.front()));
    REQUIRE(row.threads() % 32 == 0);
    REQUIRE(row.threads() <= 1024);
    REQUIRE(find_kernel(row.symbol.view()) == &row);
    REQUIRE(row.symbol.view().size() < sizeof mgemm_description::kernel);
  }
  REQUIRE(find_kernel("mgemm_no_such") == nullptr);
}

// Catches a tensor map asked for that the driver cannot make: a single row may have any leading dimension.
TEST_CASE("kernels with tensor maps do not cover leading dimensions of 2^40 bytes") {
  Problem problem = problem_from_string("nn:bf16:1x64x3072");
  for (const auto& [leading, covered] :
       {std::pair{(std::int64_t{1} << 39U) - 8, true}, std::pair{std::int64_t{1} << 39U, false}}) {
    problem.lda = leading;
    CAPTURE(leading);
    for (const KernelRow& row : catalogue()) {
      if (row.op != problem.op || row.in_type != problem.in_type || row.out_type != problem.out_type) continue;
      CAPTURE(row.symbol.view());
      CHECK(covers(row, problem, contract_of(problem, sm90_set), 16) == (covered || !row.tensor_maps));
    }
  }
}

// Catches a problem that no kernel covers, a kernel offered for a contract it does not compute, and wide copies offered
// to unaligned operands.
TEST_CASE("every problem has kernels, and only ones that cover it") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  std::set<std::string_view> first_choices;
  for (int round = 0; round < 40000; ++round) {
    const Board& board = boards.at(static_cast<size_t>(round) % boards.size());
    const Problem problem = random_problem(random);
    const Contract contract = contract_of(problem, sm90_set);
    const auto alignment = static_cast<std::int32_t>(size_of(problem.in_type) << uniform(random, 0, 3));
    CAPTURE(to_string(problem), alignment);
    const auto found = candidates(problem, contract, alignment, board);
    REQUIRE_FALSE(found.empty());
    for (const KernelRow* row : found) {
      REQUIRE(row->op == problem.op);
      REQUIRE(holds(*row, board));
      REQUIRE(row->alignment <= alignment);
      REQUIRE((row->slices == SliceMode::single) == (contract.slices.count == 1));
      REQUIRE(row->in_type == problem.in_type);
      REQUIRE(row->out_type == problem.out_type);
      REQUIRE((row->slices == SliceMode::f64) == (contract.slices.count > 1 && contract.fold == Fold::f64));
    }
    REQUIRE(found == candidates(problem, contract, alignment, board));
    first_choices.insert(found.front()->symbol.view());
  }
  // Catches a cost model under which many kernels can never be chosen.
  CAPTURE(first_choices.size(), catalogue().size());
  REQUIRE(first_choices.size() * 10 >= catalogue().size() * 8);
}

// Catches rates that were measured on one class of boards and taken for another's, which has slower tensor cores.
TEST_CASE("no kernel is expected to be faster than its board") {
  for (const CompileTarget& target : compile_targets) {
    Board board = board_of(target);
    board.multiprocessors = 84;
    for (const char* const text :
         {"nn:f32:4096x500x4096", "nt:tf32:4096x4096x4096", "tn:bf16:500x4096x4096", "nn:f16:64x512x2560"}) {
      const Problem problem = problem_from_string(text);
      const auto& [f32, tf32, halves] = target.peaks;
      const double peak = is_half(problem.in_type) ? halves : problem.in_type == Type::tf32 ? tf32 : f32;
      const double products =
          static_cast<double>(problem.m) * static_cast<double>(problem.k) * static_cast<double>(problem.n);
      for (const KernelRow* const row : candidates(problem, contract_of(problem, sm90_set), 16, board)) {
        if (row->family == Family::wgmma_tile) continue;  // of one class alone, on which they were measured
        CAPTURE(target.exact, text, row->symbol.view());
        CHECK(expected_clocks(*row, problem, board) > products / (board.multiprocessors * peak));
      }
    }
  }
}

// Catches a model in which on boards with slower tensor cores small tiles, which load more, come out ahead by rounding.
TEST_CASE("large products go to large tiles on every class of boards") {
  for (const auto& [target, multiprocessors] : {std::pair(0, 108), {1, 84}, {2, 142}, {7, 188}, {8, 48}}) {
    Board board = board_of(compile_targets.at(static_cast<std::size_t>(target)));
    board.multiprocessors = multiprocessors;
    for (const char* const text : {"nn:f32:2048x2560x10240", "nt:bf16:2048x2560x10240", "nn:f16:2048x2560x10240"}) {
      const Problem problem = problem_from_string(text);
      const KernelRow& first = *candidates(problem, contract_of(problem, sm90_set), 16, board).front();
      CAPTURE(multiprocessors, text, first.symbol.view());
      CHECK(first.tile_rows * first.tile_columns >= 128 * 64);
    }
  }
}

// Catches a log that leaves out a kernel, or why it was passed over.
TEST_CASE("dispatch says of every kernel what it expects, or why it is passed over") {
  const Problem problem = problem_from_string("tn:bf16:4096x256x72");
  const Contract contract = contract_of(problem, sm90_set);
  REQUIRE(contract.slices.count > 1);
  for (const auto& [board, alignment, text] :
       {std::tuple{boards[0], 16, "it is for one slice, and the reduction has"},
        std::tuple{boards[0], 4, "it copies 16 bytes at a time, and the operands are aligned to 4"},
        std::tuple{boards[1], 16, "it is for Hopper"},
        std::tuple{Board{84, 40000, true}, 16, "bytes of shared memory, there are 40000"}}) {
    const CapturedLog log(MGEMM_LOG_DISPATCH);
    static_cast<void>(candidates(problem, contract, alignment, board));
    CAPTURE(text, alignment);
    CHECK(log.has(text));
    for (const KernelRow& row : catalogue()) {
      if (row.op != problem.op || row.in_type != problem.in_type || row.out_type != problem.out_type) continue;
      CAPTURE(row.symbol.view());
      CHECK(log.has(std::string(row.symbol.view())));
    }
  }
}

// Catches a cost model that sends few rows to tiles of many, which multiply nothing most of the time and read weights
// in short lines, or many rows past Hopper's kernels.
TEST_CASE("few rows go to thin tiles, and many to Hopper's kernels where there are some") {
  for (const char* const layer :
       {"768x3072", "1536x80", "48x1536", "1536x768", "2560x10240", "5120x192", "160x5120", "5120x2560", "768x50280"}) {
    for (const int rows : {1, 16}) {
      const Problem problem = problem_from_string(fmt::format("nn:bf16:{}x{}", rows, layer));
      const auto found = candidates(problem, contract_of(problem, sm90_set), 16, boards[0]);
      CAPTURE(layer, rows, found.front()->symbol.view());
      CHECK(found.front()->tile_rows == 16);
    }
  }
  // In between, those of Hopper's that have no more rows.
  for (const char* const text : {"nn:bf16:64x2560x10240", "nn:f16:64x5120x2560"}) {
    const Problem problem = problem_from_string(text);
    const KernelRow& first = *candidates(problem, contract_of(problem, sm90_set), 16, boards[0]).front();
    CAPTURE(text, first.symbol.view());
    CHECK((first.family == Family::wgmma_tile && first.tile_rows == 64 && first.tile_columns % 32 == 0));
  }
  for (const char* const text : {"nn:bf16:2048x2560x10240", "nt:f16:2048x2560x10240", "tn:bf16:2048x2560x10240:out=f32",
                                 "tn:bf16:2048x1536x80:out=f32", "nn:bf16:2048x768x50280:out=f32"}) {
    const Problem problem = problem_from_string(text);
    const Contract contract = contract_of(problem, sm90_set);
    CAPTURE(text);
    CHECK(candidates(problem, contract, 16, boards[0]).front()->family == Family::wgmma_tile);
    CHECK(candidates(problem, contract, 8, boards[0]).front()->family == Family::mma_tile);
    CHECK(candidates(problem, contract, 16, boards[1]).front()->family == Family::mma_tile);
  }
}

// Catches grids that wrap round.
TEST_CASE("grids past the limit are refused") {
  const Problem huge = problem_from_string("nn:f32:2147483647x1x65536");
  const KernelRow* const small = find_kernel("mgemm_f32_nn_single_a4_thin8");
  REQUIRE(small != nullptr);
  REQUIRE_FALSE(fits_grid(*small, huge));
  // A larger tile brings the grid back under the limit.
  REQUIRE(fits_grid(*find_kernel("mgemm_f32_nn_single_a4_wide"), problem_from_string("nn:f32:2147483647x1x4096")));
  REQUIRE(describe_grid(*small, problem_from_string("nn:f32:17x1x65"), {}, 1).grid.at(0) == 6);
}

// Catches module text that depends on the build, and a row without its kernel.
TEST_CASE("module text is made from the rows alone") {
  std::set<std::string_view> modules;
  for (const KernelRow& row : catalogue()) {
    const std::string text = module_text(row.module.view());
    REQUIRE(text == module_text(row.module.view()));
    REQUIRE(text.find(std::string(row.symbol.view()) + "(") != std::string::npos);
    REQUIRE(text.find(MGEMM_SOURCE_DIR) == std::string::npos);
    modules.insert(row.module.view());
  }
  std::set<std::string> sources;
  for (const std::string_view module : modules) sources.insert(to_hex(source_identity(module).digest()));
  REQUIRE(sources.size() == modules.size());
  REQUIRE(error_of([] { module_text("no_such_module"); }).status() == MGEMM_INTERNAL);
}

// For tools/test, which compares what several builds print: nothing of a build may enter what identifies a source.
TEST_CASE("catalogue: print source identities", "[.sources]") {
  std::set<std::string_view> modules;
  for (const KernelRow& row : catalogue()) modules.insert(row.module.view());
  std::ofstream file(mgemm::test::given("MGEMM_TEST_RESULT"));
  for (const std::string_view module : modules)
    file << module << ' ' << to_hex(source_identity(module).digest()) << '\n';
}
