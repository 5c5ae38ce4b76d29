// What a user is told of kernels that must not be used and of modules that cannot be had, on the fake board.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/captured_log.hpp"
#include "support/environment.hpp"
#include "support/fake_board.hpp"
#include "support/fake_helper.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using Json = nlohmann::json;

constexpr const char* problem_text = "nn:f32:700x300x700";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json plan_on(const mamba_gemm::Context& gpu, const char* problem = problem_text) {
  return Json::parse(mamba_gemm::Plan(gpu, mamba_gemm::parse_problem(problem), 16).describe_json());
}

std::ptrdiff_t count(const CapturedLog& log, const std::string& words) {
  return std::ranges::count_if(log.lines(), [&](const std::string& line) { return contains(line, words); });
}

/// The kernel that serves where nothing is wrong.
std::string first_choice() {
  const FakeBoard board;
  const Variable off("MAMBA_GEMM_HELPER", "off");
  return plan_on(FakeBoard::context())["kernel"];
}

std::string module_of(const std::string& symbol) { return std::string(find_kernel(symbol)->module.view()); }

/// What the assembler says when it gives up what makes wgmma fast.
std::string advisory_for(const std::string& symbol, int number) {
  return "ptxas info    : Compiling entry function '" + symbol + "' for 'sm_90a'\n" +
         "ptxas info    : Used 90 registers\nptxas info    : (C75" + std::to_string(number) +
         ") Potential Performance Loss: wgmma.mma_async instructions are serialized due to ill formed pipeline stage "
         "in "
         "the function '" +
         symbol + "'\n";
}

/// What mgemm_kernels says of sm_90a: state and reason by symbol.
std::map<std::string, std::pair<std::int32_t, std::string>> inventory() {
  std::map<std::string, std::pair<std::int32_t, std::string>> kernels;
  mamba_gemm::for_each_kernel(
      "sm_90a", true,
      [&](const mgemm_kernel_info& kernel) {
        kernels[kernel.kernel] = {kernel.state, kernel.reason};
      },
      "off", 1);
  return kernels;
}

}  // namespace

// Catches an advisory that is not read where PTX is loaded through the driver, or where machine code has its log.
TEST_CASE("rejected: a kernel whose wgmma is serialised is passed over, whoever assembled it") {
  const std::string first = first_choice();
  const int number = GENERATE(10, 14, 20);
  const bool machine_code = GENERATE(false, true);
  CAPTURE(number, machine_code);
  FakeBoard board;
  const Variable off("MAMBA_GEMM_HELPER", "off");
  const CapturedLog log(MGEMM_LOG_WARN);
  const mamba_gemm::Context gpu = FakeBoard::context();
  if (machine_code) {
    // What the driver's compiler says is of no account then.
    board.driver.set_compiler_log(advisory_for(first, 11));
    const FakeHelper helper(module_of(first));
    helper.answer(module_of(first), "", advisory_for(first, number));
    // It answers the same for the other modules, so that no kernel is left.
    const mgemm_problem problem = mamba_gemm::parse_problem(problem_text);
    mgemm_plan plan = 0;
    REQUIRE(mgemm_plan_create(&plan, gpu.handle(), &problem, 16) == MGEMM_EXCLUDED);
    CHECK(contains(mgemm_last_error(), first + ": the assembler says: "));
    CHECK(contains(mgemm_last_error(), "(C75" + std::to_string(number) + ")"));
    return;
  }
  board.driver.set_compiler_log(advisory_for(first, number));
  const Json json = plan_on(gpu);
  CHECK(json["kernel"] != first);
  REQUIRE_FALSE(json["passed_over"].empty());
  CHECK(json["passed_over"][0]["kernel"] == first);
  CHECK(json["passed_over"][0]["state"] == "excluded");
  CHECK(contains(json["passed_over"][0]["reason"], "(C75" + std::to_string(number) + ")"));
}

// Catches a warning for each plan or each context, and an exclusion that only the first plan tells of.
TEST_CASE("rejected: one warning a process, and every plan says what it passed over") {
  const std::string first = first_choice();
  const Variable off("MAMBA_GEMM_HELPER", "off");
  const CapturedLog log(MGEMM_LOG_WARN);
  FakeBoard board("board with one warning");  // no other test's line is the same
  std::string state;
  SECTION("an excluded kernel") {
    state = "excluded";
    board.driver.set_function_attribute(first, cuda::FunctionAttribute::LocalSizeBytes, 8);
  }
  SECTION("a broken kernel") {
    state = "broken";
    board.driver.on_launch([&](const fake::Launch& launch) {
      if (launch.kernel != first) fake::compute(launch);
    });
  }
  SECTION("a module that does not compile") { state = "failed"; }
  for (int context = 0; context < 2; ++context) {
    if (state == "failed") board.nvrtc.fail_nth("nvrtcCompileProgram", 1, nvrtc_abi::Result::Compilation);
    const mamba_gemm::Context gpu = FakeBoard::context();
    for (const char* problem : {problem_text, "nn:f32:701x300x700", "nn:f32:699x300x700"}) {
      const Json json = plan_on(gpu, problem);
      CHECK(json["kernel"] != first);
      REQUIRE(json["passed_over"].size() == 1);
      CHECK(json["passed_over"][0]["kernel"] == first);
      CHECK(json["passed_over"][0]["state"] == state);
      CHECK(json["passed_over"][0]["reason"] != "");
    }
  }
  CHECK(count(log, "board with one warning") == 1);
  CHECK(count(log, state == "failed" ? module_of(first) : first) == 1);
}

// Catches a module that cannot be had and takes the plan with it, is compiled again for every plan, or hides its
// reason.
TEST_CASE("rejected: a module that cannot be compiled or loaded is passed over") {
  const std::string first = first_choice();
  const Variable off("MAMBA_GEMM_HELPER", "off");
  const CapturedLog log(MGEMM_LOG_WARN);
  FakeBoard board;
  std::string words;
  SECTION("NVRTC does not compile it") {
    board.nvrtc.fail_nth("nvrtcCompileProgram", 1, nvrtc_abi::Result::Compilation);
    words = "nvrtcCompileProgram failed";
  }
  SECTION("the driver refuses it") {
    board.driver.fail_nth("cuModuleLoadDataEx", 1, cuda::Result::InvalidPtx);
    words = "cuModuleLoadDataEx";
  }
  const mamba_gemm::Context gpu = FakeBoard::context();
  const Json json = plan_on(gpu);
  CHECK(json["kernel"] != first);
  REQUIRE(json["passed_over"].size() == 1);
  CHECK(json["passed_over"][0]["state"] == "failed");
  CHECK(contains(json["passed_over"][0]["reason"], words));
  CHECK(log.has("module " + module_of(first) + " cannot be used"));
  const std::size_t compiles = board.nvrtc.compiles().size();
  CHECK(plan_on(gpu, "nn:f32:701x300x700")["passed_over"][0]["kernel"] == first);
  CHECK(board.nvrtc.compiles().size() == compiles);
  // Another CUDA context tries again.
  const mamba_gemm::Context other = [&] {
    mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
    options.cache_dir = "off";
    options.cu_context = reinterpret_cast<std::uint64_t>(board.driver.make_context(0));
    return mamba_gemm::Context(options);
  }();
  CHECK(plan_on(other)["kernel"] == first);
}

// Catches a failure of all modules that is told as another class of error, or without the first reason; and one of the
// compiler itself that is taken for a module's.
TEST_CASE("rejected: without any module the plan fails as the first did") {
  const Variable off("MAMBA_GEMM_HELPER", "off");
  const CapturedLog log(MGEMM_LOG_WARN);
  const FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mgemm_problem problem = mamba_gemm::parse_problem(problem_text);
  mgemm_plan plan = 0;
  auto& nvrtc = const_cast<fake::Nvrtc&>(board.nvrtc);
  nvrtc.set_outcome(nvrtc_abi::Result::InternalError, "");
  REQUIRE(mgemm_plan_create(&plan, gpu.handle(), &problem, 16) == MGEMM_COMPILE);
  CHECK(mgemm_last_driver_code() == 11);
  CHECK(board.nvrtc.compiles().size() == 1);
  nvrtc.set_outcome(nvrtc_abi::Result::Compilation, "f32_tile.cuh(1): error: no");
  REQUIRE(mgemm_plan_create(&plan, gpu.handle(), &problem, 16) == MGEMM_COMPILE);
  CHECK(mgemm_last_driver_code() == 6);
  CHECK(contains(mgemm_last_error(), "no kernel for nn:f32:700x300x700 may be used"));
  CHECK(contains(mgemm_last_error(), "f32_tile.cuh(1): error: no"));
}

// Catches a symbol that is missing or spills told as a failed module, and a failed module told as anything else.
TEST_CASE("rejected: the inventory tells excluded kernels from failed modules") {
  const std::string symbol = "mgemm_f32_nn_single_a4_small";
  const fake::Nvrtc nvrtc;
  const FakeHelper helper(module_of(symbol));
  SECTION("excluded") {
    std::string log = "ptxas info    : Compiling entry function '" + symbol + "' for 'sm_90a'\n";
    std::string words;
    SECTION("spills") {
      log +=
          "    40 bytes stack frame, 48 bytes spill stores, 44 bytes spill loads\nptxas info    : Used 255 registers\n";
      words = "it spills 48 bytes a thread";
    }
    SECTION("serialised") {
      log = advisory_for(symbol, 17);
      words = "(C7517)";
    }
    helper.answer(module_of(symbol), "", log);
    const auto kernels = inventory();
    CHECK(kernels.at(symbol).first == MGEMM_KERNEL_EXCLUDED);
    CHECK(contains(kernels.at(symbol).second, words));
    // The answer is the same for the others' modules, which lack their kernels then.
    CHECK(kernels.at("mgemm_f32_nn_single_a4_wide").first == MGEMM_KERNEL_EXCLUDED);
    CHECK(kernels.at("mgemm_f32_nn_single_a4_wide").second == "its module does not have it");
  }
  SECTION("failed") {
    const Variable none("MAMBA_GEMM_HELPER", "off");
    for (const auto& [name, state] : inventory()) {
      CHECK(state.first == MGEMM_KERNEL_FAILED);
      CHECK(contains(state.second, "'off'"));
    }
  }
}
