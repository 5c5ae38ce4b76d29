// How the contracts of a board's tensor cores are found out: on fake boards whose tensor cores add in known ways, and
// in one that no contract has.
#include "module/tensor_probe.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cache/counters.hpp"
#include "numeric/encoding.hpp"
#include "numeric/evaluator.hpp"
#include "support/captured_log.hpp"
#include "support/device_product.hpp"
#include "support/environment.hpp"
#include "support/fake_board.hpp"
#include "support/fake_helper.hpp"
#include "support/quiet.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr std::array tensor_problems{"nn:bf16:20x130x40:bias:out=f32", "nt:f16:20x40x33:out=f32", "tn:tf32:1100x30x40",
                                     "nn:tf32:5x40x70"};

std::string last_error() { return mgemm_last_error(); }
bool last_error_has(const std::string& words) { return last_error().find(words) != std::string::npos; }

mgemm_status plan_of(const mamba_gemm::Context& gpu, const char* text) {
  const mgemm_problem problem = mamba_gemm::parse_problem(text);
  mgemm_plan plan = 0;
  const mgemm_status status = mgemm_plan_create(&plan, gpu.handle(), &problem, 0);
  if (status == MGEMM_OK) mgemm_plan_destroy(plan);
  return status;
}

std::int64_t probe_launches(const fake::Driver& driver) {
  return std::ranges::count_if(driver.launches(), [](const fake::Launch& launch) {
    return launch.kernel.find(tensor_probe_module) != std::string::npos;
  });
}

/// A matrix with its rows along the reduction as words of fused sums.
template <Type type, Side side>
std::vector<std::uint32_t> encoded(const std::byte* first, std::int64_t count) {
  using Element = typename Encoding<type, side>::Element;
  const auto* const elements = reinterpret_cast<const Element*>(first);
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < count; ++i) words.push_back(Encoding<type, side>::encode(elements[i]));
  return words;
}

struct Words {
  std::vector<std::uint32_t> a, b;
};

Words words_of(const Probe& probe, const ProbeBlock& block) {
  const Problem& p = probe.problem;
  const auto both = [&]<Type type>() -> Words {
    return {encoded<type, Side::a>(block.bytes.data() + block.a, output_rows(p) * p.lda),
            encoded<type, Side::b>(block.bytes.data() + block.b, output_columns(p) * p.ldb)};
  };
  return p.in_type == Type::bf16  ? both.operator()<Type::bf16>()
         : p.in_type == Type::f16 ? both.operator()<Type::f16>()
                                  : both.operator()<Type::tf32>();
}

/// What tensor cores with these parameters make of a probe.
std::vector<float> product_by(FusedSum sum, const Problem& p, const Words& words) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < output_rows(p); ++i) {
    for (std::int64_t j = 0; j < output_columns(p); ++j) {
      float value = 0;
      for (std::int64_t r = 0; r < reduction(p); r += sum.terms) {
        value = fused_sum(sum, value, words.a.data() + i * p.lda + r, 1, words.b.data() + j * p.ldb + r, 1);
      }
      result.push_back(value);
    }
  }
  return result;
}

std::int64_t differences(const std::vector<float>& one, const std::vector<float>& other) {
  std::int64_t count = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    count += std::bit_cast<std::uint32_t>(one[i]) != std::bit_cast<std::uint32_t>(other[i]) ? 1 : 0;
  }
  return count;
}

}  // namespace

// Catches a probe whose operands the instruction's loads would fault on, or exceptional values that are in none.
TEST_CASE("tensor probe: operands lie at whole words, and some are exceptional") {
  for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
    bool exceptional = false;
    for (const Probe& probe : tensor_probes(kernel.type, sm90_set)) {
      const mgemm_operands operands = tensor_block(probe).operands(probe, 1U << 20U);
      CHECK((operands.a % 16 == 0 && operands.b % 16 == 0 && operands.out % 16 == 0));
      exceptional |= probe.exceptional;
    }
    CHECK(exceptional);
  }
}

// Catches a board that is given another's contract, and kernels that are held to another than the plan says.
TEST_CASE("tensor cores: a board of each known set gets its contracts and its bits") {
  const TensorSet* const chosen = GENERATE(&sm90_set, &sm80_set);
  const TensorSet& set = *chosen;
  const TensorSet& other = &set == &sm90_set ? sm80_set : sm90_set;
  CAPTURE(set.name);
  const FakeBoard board("NVIDIA A board", set);
  const CapturedLog log;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const auto reference = mamba_gemm::Context::reference(1, set.profile);
  const auto wrong = mamba_gemm::Context::reference(1, other.profile);
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (const char* const text : tensor_problems) {
    CAPTURE(text);
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    const auto got = run_on(gpu, product);
    CHECK(got == run_on(reference, product));
    CHECK(got != run_on(wrong, product));
    const mgemm_description description = mamba_gemm::Plan(gpu, product.problem).describe();
    const Type type = check_problem(product.problem).in_type;
    CHECK(description.contract == to_string(contract_for(type, set)));
    CHECK(description.profile == set.profile);
    CHECK(mamba_gemm::Plan(reference, product.problem).describe().contract == std::string(description.contract));
    const BoundProduct bound(gpu, product);
    const mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
    CHECK(launch.verify(1 << 20, seed).mismatches == 0);
  }
  CHECK(log.has(std::string("as ") + set.name + " has it"));
}

// Catches other arithmetic taken for a known one, or refused as a broken kernel; a refusal that takes f32 with it, that
// does not say which board, or that is asked for anew at every plan.
TEST_CASE("tensor cores: arithmetic that no contract has is refused by name, and f32 served") {
  TensorSet set = fake::unknown_set;
  SECTION("of no type") {}
  SECTION("halves as sm_90 has them, tf32 as sm_80") {
    set.halves = sm90_set.halves;
    set.tf32 = sm80_set.tf32;
  }
  SECTION("tf32 alone is another") {
    set.halves = sm80_set.halves;
    set.tf32.arithmetic = Arithmetic::l8f24;
  }
  const FakeBoard board("NVIDIA Z9", set);
  const Quiet quiet;
  const mamba_gemm::Context gpu = FakeBoard::context();
  for (const char* const text : tensor_problems) {
    CAPTURE(text);
    REQUIRE(plan_of(gpu, text) == MGEMM_UNSUPPORTED);
    CAPTURE(last_error());
    CHECK(last_error_has("the tensor cores of NVIDIA Z9 (compute capability 9.0) add in a way"));
    CHECK(last_error_has("f32 problems are"));
    CHECK(last_error_has("not sm90: nt:"));
    CHECK(last_error_has("not sm80: nt:"));
    CHECK(last_error_has("element ("));
  }
  CHECK(probe_launches(board.driver) == 6);
  CHECK(board.driver.live().modules == 0);
  // Warming up meets it in several threads.
  const std::array problems{mamba_gemm::parse_problem("nn:bf16:64x64x64"),
                            mamba_gemm::parse_problem("nn:f16:64x64x64")};
  CHECK(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), 0, 2, nullptr, nullptr) == MGEMM_UNSUPPORTED);
  CHECK(last_error_has("nn:bf16:64x64x64"));
  CHECK(board.driver.live().modules == 0);
  Random random(fresh_seed());
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:20x30x40"), {});
  CHECK(run_on(gpu, product) == run_on(mamba_gemm::Context::reference(1), product));
}

// Catches an f32 plan that pays for the probe, one that runs again for each type or plan or not for another CUDA
// context, and a module of it that stays.
TEST_CASE("tensor cores: the probe runs once a CUDA context, when the first problem needs it") {
  const FakeBoard board;
  const Quiet quiet;
  {
    const mamba_gemm::Context gpu = FakeBoard::context();
    REQUIRE(plan_of(gpu, "nn:f32:20x30x40") == MGEMM_OK);
    CHECK(probe_launches(board.driver) == 0);
    const int modules = board.driver.live().modules;
    REQUIRE(plan_of(gpu, "nn:bf16:20x30x40") == MGEMM_OK);
    CHECK(probe_launches(board.driver) == 6);
    CHECK(board.driver.live().modules == modules + 1);
    const mamba_gemm::Context beside = FakeBoard::context();  // in the same CUDA context
    for (const char* const text : tensor_problems) REQUIRE(plan_of(beside, text) == MGEMM_OK);
    CHECK(probe_launches(board.driver) == 6);
    CHECK(board.driver.live().streams == 2);
    CHECK(board.driver.live().allocations == 0);
  }
  // The primary context was released, and this is a new one.
  REQUIRE(plan_of(FakeBoard::context(), "nt:tf32:20x30x40") == MGEMM_OK);
  CHECK(probe_launches(board.driver) == 12);
}

// Catches a probe in the middle of the caller's capture.
TEST_CASE("tensor cores: in capture nothing is found out") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  board.driver.set_capture_status(reinterpret_cast<cuda::Stream>(gpu.stream()), cuda::CaptureStatus::Active);
  CHECK(plan_of(gpu, "nn:bf16:20x30x40") == MGEMM_CAPTURE_MISS);
  CHECK(board.driver.launches().empty());
  CHECK(board.driver.live().modules == 0);
}

// Catches a probe that fails taken for arithmetic that is not known, or for a broken kernel, and a failure that stays.
TEST_CASE("tensor cores: a probe that fails is an error of its own, and the next plan tries again") {
  FakeBoard board;
  const Quiet quiet;
  const mamba_gemm::Context gpu = FakeBoard::context();
  mgemm_status status = MGEMM_OK;
  SECTION("the launch") {
    board.driver.fail_nth("cuLaunchKernel", 2, cuda::Result::InvalidValue);
    status = MGEMM_DRIVER;
  }
  SECTION("memory") {
    board.driver.fail_nth("cuMemAlloc", 3, cuda::Result::OutOfMemory);
    status = MGEMM_OUT_OF_MEMORY;
  }
  SECTION("the compiler") {
    board.nvrtc.set_outcome(nvrtc_abi::Result::Compilation, "no such instruction");
    status = MGEMM_COMPILE;
  }
  const auto before = board.driver.live();
  REQUIRE(plan_of(gpu, "nn:bf16:20x30x40") == status);
  CAPTURE(last_error());
  CHECK(last_error_has("the arithmetic of the tensor cores of NVIDIA H200 could not be found out"));
  CHECK(board.driver.live() == before);
  board.nvrtc.set_outcome(nvrtc_abi::Result::Success, "");
  CHECK(plan_of(gpu, "nn:bf16:20x30x40") == MGEMM_OK);
}

// Catches a second start that compiles the probe anew, or takes what it found out from another board with the same
// code.
TEST_CASE("tensor cores: the probe's machine code is kept, what came of it is not", "[cache]") {
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  const Quiet quiet;
  const auto start = [&](const TensorSet& set) {
    const FakeBoard board("NVIDIA H200", set);
    const FakeHelper helper("bf16_nn_single_a2_square");
    const auto made = [] { return cache_counters().compiles.at(index_of(Kind::machine_code)); };
    const std::uint64_t before = made();
    const mamba_gemm::Context gpu = FakeBoard::context(cache.c_str());
    CudaDevice device(driver(), 0, nullptr);
    CHECK(&tensor_set_of(device, cache) == &tensor_sets.at(set.profile == sm90_set.profile ? 0 : 1));
    CHECK(probe_launches(board.driver) == 6);
    return made() - before;
  };
  CHECK(start(sm90_set) == 1);
  CHECK(start(sm90_set) == 0);
  CHECK(start(sm80_set) == 0);
}

// Catches a probe that cannot tell sets apart, known ones or others, because its numbers are too tame.
// Of 384 elements.
TEST_CASE("tensor cores: the probe's numbers tell every two arithmetics apart") {
  for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
    for (const TensorSet& set : tensor_sets) {
      const FusedSum known = fused_sums[static_cast<size_t>(contract_for(kernel.type, set).arithmetic)];
      const Probe ordinary = tensor_probes(kernel.type, set).at(0);
      const ProbeBlock block = tensor_block(ordinary);
      const Words words = words_of(ordinary, block);
      const std::vector<float> right = product_by(known, ordinary.problem, words);
      // What the comparison on a board goes by.
      const ProbeBlock expected = expected_block(ordinary, block);
      CHECK(std::memcmp(expected.bytes.data() + expected.out, right.data(), right.size() * sizeof(float)) == 0);
      for (const int terms : {1, 2, 4, 8, 16, 32}) {
        for (int fraction = 21; fraction <= product_fraction; ++fraction) {
          if (terms == known.terms && fraction == known.fraction) continue;
          CAPTURE(kernel.symbol, set.name, terms, fraction);
          CHECK(differences(right, product_by({terms, fraction}, ordinary.problem, words)) >= 100);
        }
      }
    }
  }
}
