// Admission and qualification on the fake driver, whose kernels are wrong in the ways a test says.
#include "module/qualify.hpp"

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cache/inspect.hpp"
#include "compile/module_text.hpp"
#include "device/current_context.hpp"
#include "module/loader.hpp"
#include "module/probe.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/operands.hpp"
#include "support/cache.hpp"
#include "support/captured_log.hpp"
#include "support/environment.hpp"
#include "support/fake_board.hpp"
#include "support/fake_helper.hpp"
#include "support/quiet.hpp"
#include "support/raises.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Qualifies one kernel that does `kernel`, without loading anything.
std::string verdict_on(std::string_view symbol, const std::function<void(const fake::Launch&)>& kernel) {
  REQUIRE(find_kernel(symbol) != nullptr);
  FakeBoard board;
  board.driver.on_launch(kernel);
  const KernelRow& row = *find_kernel(symbol);
  CudaDevice device(driver(), 0, board.driver.make_context(0));
  const CurrentContext current(driver(), device.context());
  const Compiled compiled = compile(fake::Nvrtc::table(), {"test", module_text(row.module.view()), {}, "compute_90a"});
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  check(driver().cuModuleLoadDataEx(&module, compiled.ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  check(driver().cuModuleGetFunction(&function, module, row.symbol.c_str()), "cuModuleGetFunction");
  check(driver().cuFuncSetAttribute(function, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, row.shared_bytes()),
        "cuFuncSetAttribute");
  const auto before = board.driver.live();
  std::string verdict = qualify(device, row, sm90_set, function);
  CHECK(board.driver.live() == before);
  return verdict;
}

void flush(float& value) {
  if (std::fpclassify(value) == FP_SUBNORMAL) value = 0;
}

/// What a kernel gives that sees other elements of a than there are.
template <typename Element, typename Change>
void compute_with_other_a(const fake::Launch& launch, Change change) {
  const EvaluatorInput input = fake::input_of(launch);
  auto* const a = static_cast<Element*>(const_cast<void*>(input.a));
  const auto each = [&](auto visit) {
    for (std::int64_t i = 0; i < input.rows; ++i) {
      for (std::int64_t r = 0; r < input.reduction; ++r) visit(a[i * input.a_strides.row + r * input.a_strides.column]);
    }
  };
  std::vector<Element> kept;
  each([&](Element& element) {
    kept.push_back(element);
    change(element);
  });
  evaluate(input, Isa::generic, 1);
  size_t next = 0;
  each([&](Element& element) { element = kept[next++]; });
}

/// Every element of a launch's output, as bits of a word or of a half.
template <typename Element = float, typename Change>
void change_output(const fake::Launch& launch, Change change) {
  const EvaluatorInput input = fake::input_of(launch);
  for (std::int64_t i = 0; i < input.rows; ++i) {
    for (std::int64_t j = 0; j < input.columns; ++j) {
      change(static_cast<Element*>(input.out)[i * input.out_leading + j], i, j);
    }
  }
}

}  // namespace

// Catches probes that leave out a class of sizes, slices or values.
TEST_CASE("probes: every kernel gets every class") {
  for (const KernelRow& row : catalogue()) {
    CAPTURE(row.symbol.view());
    std::set<std::int64_t> rows, columns, rests;
    bool below_a_stage = false, past_all_stages = false, uneven_slice = false, exceptional = false, ordinary = false;
    std::set<std::array<bool, 3>> epilogues;  // scaled, the old output read, a bias
    bool negative_zero = false;
    std::set<std::array<bool, 2>> wide;  // a and b as the widest copies want them
    for (const Probe& probe : probes_for(row, sm90_set)) {
      const Problem& p = probe.problem;
      const std::int64_t depth = reduction(p);
      CAPTURE(to_string(p));
      CHECK(check_problem(to_c(p)).lda == p.lda);
      const mgemm_operands operands = make_block(probe, "x").operands(probe, 1U << 20U);
      CHECK(alignment_of(p, operands) == row.alignment);
      const auto is_wide = [&](std::uint64_t address, std::int64_t leading) {
        return (address | static_cast<std::uint64_t>(leading * size_of(p.in_type))) % 16 == 0;
      };
      wide.insert({is_wide(operands.a, p.lda), is_wide(operands.b, p.ldb)});
      CHECK((probe.contract.slices.count > 1) == (row.slices != SliceMode::single));
      rows.insert(output_rows(p) - row.tile_rows);
      columns.insert(output_columns(p) - row.tile_columns);
      rests.insert(depth % 16);
      below_a_stage |= depth < row.tile_steps || probe.contract.slices.count > 1;
      past_all_stages |= depth > row.tile_steps * row.stages;
      uneven_slice |= probe.contract.slices.count > 1 && depth % probe.contract.slices.length != 0;
      exceptional |= probe.exceptional;
      ordinary |= !probe.exceptional;
      epilogues.insert({p.alpha != 1, p.beta != 0, p.bias});
      negative_zero |= probe.exceptional && p.alpha < 0 && p.beta == 0 && !p.bias;
    }
    for (const std::int64_t edge : {-1, 0, 1}) {
      CHECK(rows.contains(edge));
      CHECK(columns.contains(edge));
    }
    for (const std::int64_t rest : {0, 1, 15}) CHECK(rests.contains(rest));
    CHECK((below_a_stage && past_all_stages && exceptional && ordinary && negative_zero));
    CHECK(wide.contains({false, false}) == (row.alignment < 16));
    CHECK(wide.contains({true, false}) == (row.alignment < 16));
    CHECK(wide.contains({false, true}) == (row.alignment < 16));
    // Each with each.
    CHECK(epilogues.size() == (row.op == Op::nn ? 8 : 4));
    CHECK(uneven_slice == (row.slices != SliceMode::single));
  }
}

// Catches a correct kernel refused: the probes, their blocks and the evaluator must agree with each other.
TEST_CASE("qualify: what computes its contract passes") {
  for (const char* symbol :
       {"mgemm_f32_nn_single_a16_wide", "mgemm_f32_nn_sliced_a4_small", "mgemm_f32_tn_sliced_a16_square",
        "mgemm_f32_nt_single_a4_thin8", "mgemm_bf16_nn_single_a16_large", "mgemm_f16f32_nt_single_a2_square",
        "mgemm_bf16f32_tn_sliced_a4_slices", "mgemm_tf32_nn_single_a4_square"}) {
    CAPTURE(symbol);
    CHECK(verdict_on(symbol, fake::compute) == "");
  }
}

// Catches a fault that no probe shows.
TEST_CASE("qualify: kernels that are wrong in one way are found out") {
  std::string symbol = "mgemm_f32_nn_single_a16_square";
  std::function<void(const fake::Launch&)> kernel;
  SECTION("nothing is written") {
    kernel = [](const fake::Launch&) {};
  }
  SECTION("the last row behind a tile's edge is off by one bit") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output(launch, [](float& value, std::int64_t i, std::int64_t) {
        if (i == 64) value = std::nextafter(value, 0.0F);
      });
    };
  }
  SECTION("the last column before a tile's edge is off by one bit") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output(launch, [](float& value, std::int64_t, std::int64_t j) {
        if (j == 62) value = std::nextafter(value, 0.0F);
      });
    };
  }
  SECTION("subnormal results are flushed") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output(launch, [](float& value, std::int64_t, std::int64_t) { flush(value); });
    };
  }
  SECTION("-0 comes out as +0") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output(launch, [](float& value, std::int64_t, std::int64_t) { value += 0.0F; });
    };
  }
  SECTION("NaNs keep their bits") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output(launch, [](float& value, std::int64_t, std::int64_t) {
        if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
      });
    };
  }
  SECTION("the last step of the reduction is left out") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      --input.reduction;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("the old output is read where beta is 0") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      if (input.beta == 0) input.beta = 0x1p-149F;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("the bias is forgotten") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      input.bias = nullptr;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("the bias is forgotten where alpha is 1 and beta 0") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      if (input.alpha == 1 && input.beta == 0) input.bias = nullptr;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("the old output is forgotten where alpha is 1 and there is no bias") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      if (input.alpha == 1 && input.bias == nullptr) input.beta = 0;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("alpha is taken for 1 where there is a bias and an old output") {
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      if (input.beta != 0 && input.bias != nullptr) input.alpha = 1;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("one word behind the output is written") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      const EvaluatorInput input = fake::input_of(launch);
      fake::out_of(input)[(input.rows - 1) * input.out_leading + input.columns] = 0;
    };
  }
  SECTION("an input is written") {
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      static_cast<float*>(const_cast<void*>(fake::input_of(launch).a))[0] += 1;
    };
  }
  SECTION("a half behind a tile's edge is off by one bit") {
    symbol = "mgemm_bf16_nn_single_a2_square";
    kernel = [](const fake::Launch& launch) {
      fake::compute(launch);
      change_output<std::uint16_t>(launch, [](std::uint16_t& bits, std::int64_t i, std::int64_t j) {
        if (i == 64 && j == 5) bits ^= 1U;
      });
    };
  }
  SECTION("halves are cut instead of rounded") {
    symbol = "mgemm_bf16_nt_single_a16_flat";
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      if (input.beta != 0) return fake::compute(launch);
      std::vector<float> exact(static_cast<size_t>(input.rows * input.columns));
      void* const out = input.out;
      const std::int64_t leading = input.out_leading;
      input.out = exact.data();
      input.out_type = Type::f32;
      input.out_leading = input.columns;
      evaluate(input, Isa::generic, 1);
      for (std::int64_t i = 0; i < input.rows; ++i) {
        for (std::int64_t j = 0; j < input.columns; ++j) {
          const auto bits = std::bit_cast<std::uint32_t>(exact[static_cast<size_t>(i * input.columns + j)]);
          static_cast<std::uint16_t*>(out)[i * leading + j] = static_cast<std::uint16_t>(bits >> 16U);
        }
      }
    };
  }
  SECTION("subnormal halves are taken for zeros") {
    symbol = "mgemm_f16_nn_single_a16_square";
    kernel = [](const fake::Launch& launch) {
      compute_with_other_a<std::uint16_t>(launch, [](std::uint16_t& bits) {
        if ((bits & 0x7c00U) == 0) bits &= 0x8000U;
      });
    };
  }
  SECTION("a chain of fused sums of eight") {
    symbol = "mgemm_f16f32_nn_single_a16_large";
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      input.arithmetic = Arithmetic::l8f25;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("tf32 operands are cut instead of rounded") {
    symbol = "mgemm_tf32_nt_single_a16_square";
    kernel = [](const fake::Launch& launch) {
      compute_with_other_a<std::uint32_t>(launch, [](std::uint32_t& bits) { bits &= ~0x1fffU; });
    };
  }
  SECTION("slices are folded in f32 instead of f64") {
    symbol = "mgemm_f32_tn_sliced_a16_square";
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      input.fold = Fold::f32;
      evaluate(input, Isa::generic, 1);
    };
  }
  SECTION("slices are one chain") {
    symbol = "mgemm_f32_nn_sliced_a16_square";
    kernel = [](const fake::Launch& launch) {
      EvaluatorInput input = fake::input_of(launch);
      input.slices = {1, input.reduction};
      evaluate(input, Isa::generic, 1);
    };
  }
  const std::string verdict = verdict_on(symbol, kernel);
  INFO(verdict);
  CHECK((contains(verdict, "element (") || contains(verdict, "the memory round its operands was written")));
}

// Catches a broken kernel that is used, that takes the others with it, or of which nobody hears.
TEST_CASE("qualify: a broken kernel is passed over, and if all are it is an error") {
  FakeBoard board;
  bool all = false;
  std::string first;
  SECTION("the first choice") {}
  SECTION("all") { all = true; }
  board.driver.on_launch([&](const fake::Launch& launch) {
    fake::compute(launch);
    if (first.empty()) first = launch.kernel;
    if (all || launch.kernel == first) {
      change_output(launch, [](float& value, std::int64_t, std::int64_t) { flush(value); });
    }
  });
  const Quiet quiet;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:20x30x40");
  mgemm_plan plan = 0;
  const mgemm_status status = mgemm_plan_create(&plan, gpu.handle(), &problem, 0);
  if (all) {
    CHECK(status == MGEMM_QUALIFICATION);
    CHECK(contains(mgemm_last_error(), first));
    CHECK(contains(mgemm_last_error(), "is what F32_FMA/1 gives"));
    return;
  }
  REQUIRE(status == MGEMM_OK);
  const mamba_gemm::Plan again(gpu, problem);
  const auto json = nlohmann::json::parse(again.describe_json());
  CHECK(json["kernel"] != first);
  REQUIRE(json["passed_over"].size() == 1);
  CHECK(json["passed_over"][0]["kernel"] == first);
  CHECK(json["passed_over"][0]["state"] == "broken");
  CHECK(contains(json["passed_over"][0]["reason"], "element ("));
  CHECK(mgemm_plan_destroy(plan) == MGEMM_OK);
}

// Catches probes run again although this very code has passed them, or not run for other code.
TEST_CASE("qualify: a verdict is kept for machine code and for nothing else", "[cache]") {
  FakeBoard board;
  const TempFolder folder;
  const KernelRow& row = *find_kernel("mgemm_f32_nn_single_a4_small");
  const std::string cache = (folder.path() / "cache").string();
  const auto probes_run = [&] {
    CudaDevice device(driver(), 0, board.driver.make_context(0));
    board.driver.clear_launches();
    const CapturedLog log;
    const LoadedKernel kernel = load_kernel(device, row, cache);
    CHECK(kernel.state == KernelState::usable);
    const bool ran = !board.driver.launches().empty();
    // What it says of itself, and the log.
    CHECK(kernel.qualification.by_verdict == !ran);
    CHECK(kernel.qualification.milliseconds > 0);
    CHECK(log.has(ran ? "module f32_nn_single_a4_small on NVIDIA H200: the probes run in "
                      : "module f32_nn_single_a4_small on NVIDIA H200: the verdict of an earlier start found in "));
    return ran;
  };
  {
    const Variable off("MAMBA_GEMM_HELPER", "off");
    CHECK(probes_run());
    CHECK(probes_run());  // what the driver makes of PTX is not known
  }
  const FakeHelper helper(row.module.view());
  CHECK(probes_run());
  CHECK_FALSE(probes_run());
  Store store(cache);
  purge_entries(store, std::nullopt);
  CHECK(probes_run());
  // Other code for the same module.
  for (const EntryInfo& entry : list_entries(store)) {
    if (entry.kind == Kind::machine_code) store.remove(entry.key, entry.kind);
  }
  helper.answer(row.module.view(), "// other\n");
  CHECK(probes_run());
  CHECK_FALSE(probes_run());
}

// Catches a module without one of its symbols that is used all the same, or is an error where others could serve.
TEST_CASE("admission: a missing symbol excludes its kernel alone") {
  FakeBoard board;
  const FakeHelper other("f32_nn_single_a4_wide");
  const Quiet quiet;
  CudaDevice device(driver(), 0, board.driver.make_context(0));
  const LoadedKernel missing = load_kernel(device, *find_kernel("mgemm_f32_nn_single_a4_small"), "");
  CHECK(missing.state == KernelState::excluded);
  CHECK(missing.reason == "its module does not have it");
  CHECK(load_kernel(device, *find_kernel("mgemm_f32_nn_single_a4_wide"), "").state == KernelState::usable);
}

// Catches a log that is misread: a number of another line, a kernel's facts given to the next, an advisory overlooked.
TEST_CASE("admission: the assembler's log") {
  const auto facts = read_assembler_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'mgemm_one' for 'sm_90a'\n"
      "ptxas info    : Function properties for mgemm_one\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 1 barriers, 16 bytes smem, 448 bytes cmem[0]\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources in function 'mgemm_two'\n"
      "ptxas info    : Compiling entry function 'mgemm_two' for 'sm_90a'\n"
      "    40 bytes stack frame, 48 bytes spill stores, 44 bytes spill loads\n"
      "ptxas info    : Used 255 registers");
  REQUIRE(facts.size() == 2);
  CHECK(facts.at("mgemm_one").registers == 128);
  CHECK(facts.at("mgemm_one").static_shared_bytes == 16);
  CHECK(facts.at("mgemm_one").local_bytes == 0);
  CHECK(facts.at("mgemm_one").advisory.empty());
  CHECK(facts.at("mgemm_two").registers == 255);
  CHECK(facts.at("mgemm_two").local_bytes == 48);
  CHECK(contains(facts.at("mgemm_two").advisory, "C7510"));
  // The first and the last of those that matter, and the one before.
  for (const auto& [code, counts] :
       {std::pair(7507, false), {7508, true}, {7509, true}, {7510, true}, {7519, true}, {7520, true}}) {
    const std::string word = fmt::format("(C{}) Potential Performance Loss", code);
    const auto logged = read_assembler_log("Compiling entry function 'mgemm_one'\nptxas info    : " + word);
    CHECK(contains(logged.at("mgemm_one").advisory, counts ? word : ""));
    CHECK(logged.at("mgemm_one").advisory.empty() == !counts);
  }
  CHECK(read_assembler_log("").empty());
  CHECK(read_assembler_log("Used 12 registers\n").empty());
}

// Catches a limit that is not one.
TEST_CASE("admission: what excludes a kernel") {
  const KernelRow& row = *find_kernel("mgemm_f32_nn_single_a16_wide");
  const ResourceFacts good{.registers = 128, .max_threads = row.threads()};
  const ResourceLimits limits{232448};
  CHECK(reason_to_exclude(row, good, limits) == "");
  const auto refused = [&](auto change, const char* words) {
    ResourceFacts facts = good;
    ResourceLimits changed = limits;
    change(facts, changed);
    CHECK(contains(reason_to_exclude(row, facts, changed), words));
  };
  refused([](auto& f, auto&) { f.local_bytes = 8; }, "spills 8 bytes");
  refused([](auto& f, auto&) { f.advisory = "C7512"; }, "C7512");
  refused([&](auto& f, auto&) { f.max_threads = row.threads() - 1; }, "threads");
  // Warps take registers in eights a thread, and come in fours.
  REQUIRE((row.threads() == 128 && row.min_blocks == 3));
  refused([&](auto& f, auto&) { f.registers = 169; }, "3 thread blocks of it must be resident, and with 169 registers");
  const ResourceFacts most{.registers = 168, .max_threads = row.threads()};
  CHECK(reason_to_exclude(row, most, limits) == "");
  refused([&](auto& f, auto& l) { l.shared_bytes_per_block = row.shared_bytes() + (f.static_shared_bytes = 16) - 1; },
          "shared memory");
}
