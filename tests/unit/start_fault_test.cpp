// A whole start on the fake board, from making a context to destroying it, with every call of the driver, of NVRTC and
// of the operating system made to fail in turn.
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/store.hpp"
#include "catalogue/targets.hpp"
#include "route/dispatch.hpp"
#include "support/captured_log.hpp"
#include "support/device_product.hpp"
#include "support/fake_board.hpp"
#include "support/fake_helper.hpp"
#include "support/faulty_calls.hpp"
#include "support/quiet.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
namespace fs = std::filesystem;

/// What a failing call answers, and what the library must make of it.
struct Fault {
  const char* name;
  std::optional<cuda::Result> driver;
  std::optional<nvrtc_abi::Result> nvrtc;
  mgemm_status status;
  std::int32_t code;
};

constexpr std::array<Fault, 4> faults{{
    {"driver error", cuda::Result::Unknown, std::nullopt, MGEMM_DRIVER, 999},
    {"driver out of memory", cuda::Result::OutOfMemory, std::nullopt, MGEMM_OUT_OF_MEMORY, 2},
    {"NVRTC error", std::nullopt, nvrtc_abi::Result::InternalError, MGEMM_COMPILE, 11},
    {"NVRTC out of memory", std::nullopt, nvrtc_abi::Result::OutOfMemory, MGEMM_OUT_OF_MEMORY, 1},
}};

struct Failure {
  std::string step, text;
  mgemm_status status = MGEMM_OK;
  std::int32_t code = 0;
};

std::string texts_of(const std::vector<Failure>& failures) {
  std::string all;
  for (const Failure& failure : failures) all += failure.step + ": " + failure.text + "\n";
  return all;
}

struct Outcome {
  std::vector<Failure> failures;
  std::vector<std::uint32_t> words;  // of the output and round it
  bool unloaded = true;              // a plan that failed left no module behind
};

/// One start. A step that fails is tried once more, and then all goes on as if nothing had been.
class Start {
 public:
  Start(const FakeBoard& board, const DeviceProduct& product, std::string cache)
      : board_(board), product_(product), cache_(std::move(cache)) {}

  Outcome run() {
    step("create", [&] {
      mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
      options.cache_dir = cache_.c_str();
      return mgemm_context_create(&context_, &options);
    });
    step("plan", [&] {
      const mgemm_status status = mgemm_plan_create(&plan_, context_, &product_.problem, 4);
      if (status != MGEMM_OK) outcome_.unloaded &= board_.driver.live().modules == 0;
      return status;
    });
    const std::array matrices{&product_.a, &product_.b, &product_.bias, &product_.out};
    std::array<std::uint64_t, 4> memory{};
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      step("alloc", [&] { return mgemm_alloc(context_, matrices.at(i)->bytes(), &memory.at(i)); });
      step("upload",
           [&] { return mgemm_upload(context_, memory.at(i), matrices.at(i)->words.data(), matrices.at(i)->bytes()); });
    }
    const auto at = [&](std::size_t i) { return memory.at(i) + static_cast<std::uint64_t>(matrices.at(i)->first()); };
    const mgemm_operands operands = mamba_gemm::operands(at(0), at(1), at(3), at(2));
    step("bind", [&] { return mgemm_launch_create(&launch_, plan_, &operands); });
    step("wait", [&] { return mgemm_context_wait_stream(context_, 0); });
    step("run", [&] { return mgemm_launch_run(launch_); });
    step("verify", [&] {
      mgemm_verify_report report{};
      report.struct_size = sizeof report;
      return mgemm_launch_verify(launch_, 12, 1, &report);
    });
    step("synchronize", [&] { return mgemm_context_synchronize(context_); });
    outcome_.words.resize(product_.out.words.size());
    step("download", [&] {
      return mgemm_download(context_, outcome_.words.data(), memory[3],
                            static_cast<std::int64_t>(product_.out.bytes()));
    });
    step("free", [&] { return mgemm_free(context_, memory[3]); });  // the others are left to destroy
    stopped_ = false;
    step("destroy", [&] {
      mgemm_launch_destroy(launch_);
      mgemm_plan_destroy(plan_);
      return mgemm_context_destroy(context_);
    });
    return std::move(outcome_);
  }

 private:
  void step(const char* name, const std::function<mgemm_status()>& body) {
    if (stopped_) return;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const mgemm_status status = body();
      if (status == MGEMM_OK) return;
      outcome_.failures.push_back({name, mgemm_last_error(), status, mgemm_last_driver_code()});
    }
    stopped_ = true;
  }

  const FakeBoard& board_;
  const DeviceProduct& product_;
  std::string cache_;
  mgemm_context context_ = 0;
  mgemm_plan plan_ = 0;
  mgemm_launch launch_ = 0;
  bool stopped_ = false;
  Outcome outcome_;
};

/// The same random product for all starts of a test, and its right output.
struct StartWork {
  std::uint64_t seed = fresh_seed();
  DeviceProduct product;
  std::vector<std::uint32_t> right;
  std::string module;

  explicit StartWork(const char* text = "nn:f32:5x6x7:bias") {
    Random random(seed);
    product = make_device_product(random, mamba_gemm::parse_problem(text), {.row_alignment = 2});
    right = run_on(mamba_gemm::Context::reference(1), product);
    const Problem problem = problem_from_string(text);
    const Board board{132, kibibytes(227), true};
    module = candidates(problem, contract_of(problem, sm90_set), 4, board).front()->module.view();
  }
};

int objects(const fake::LiveObjects& live) {
  // The modules of a context that could not be released stay with it.
  return live.primary_retains + live.streams + live.events + live.allocations +
         (live.primary_retains == 0 ? live.modules : 0);
}

/// Whether a fault may keep one thing from being given back: the call that gives it back, or what comes before that.
bool is_of_giving_back(const std::string& call) {
  constexpr std::array calls{"cuMemFree",       "cuStreamDestroy",  "cuEventDestroy",     "cuDevicePrimaryCtxRelease",
                             "cuCtxGetCurrent", "cuCtxPushCurrent", "cuStreamSynchronize"};
  return std::ranges::find(calls, call) != calls.end();
}

/// A start in which a call failed, and whether one did.
std::string check_faulty_start(const StartWork& work, const Fault& fault, int number, const std::string& cache) {
  FakeBoard board;
  const CapturedLog log;
  if (fault.driver) board.driver.fail_nth_of_all(number, *fault.driver);
  if (fault.nvrtc) board.nvrtc.fail_nth_of_all(number, *fault.nvrtc);
  const Outcome outcome = Start(board, work.product, cache).run();
  const std::string call = fault.driver ? board.driver.failed_call() : board.nvrtc.failed_call();
  CAPTURE(call);
  if (outcome.failures.empty()) {
    // It was survived. The log says how, unless a second look was all it took.
    if (!call.empty() && call != "cuCtxPopCurrent") CHECK(log.has(call));
  } else {
    const Failure& failure = outcome.failures.front();
    CAPTURE(failure.step, failure.text);
    CHECK_FALSE(call.empty());
    CHECK(outcome.failures.size() == 1);
    CHECK(failure.status == fault.status);
    CHECK(failure.code == fault.code);
    CHECK(failure.text.find(call) != std::string::npos);
  }
  CHECK(outcome.unloaded);
  CHECK((outcome.words == work.right));
  CHECK(fake::Driver::context_stack().empty());
  const int left = objects(board.driver.live());
  if (left != 0) {
    // One thing at most, and the log says so.
    CHECK(is_of_giving_back(call));
    CHECK(left == 1);
    CHECK(log.has("while giving back"));
  }
  CHECK(board.nvrtc.live_programs() == (call == "nvrtcDestroyProgram" ? 1 : 0));

  // A step that was tried again has shown that the next try works, but not what fails beyond the steps.
  const bool has_shown = !outcome.failures.empty() && outcome.failures.front().step != "create";
  if (has_shown || call.empty()) return call;
  const Outcome next = Start(board, work.product, cache).run();
  CHECK(texts_of(next.failures) == "");
  CHECK((next.words == work.right));
  CHECK(objects(board.driver.live()) == left);
  return call;
}

}  // namespace

// Catches a failed call that is not an error of its class with its name, that leaks, that leaves a context current, or
// after which the library does not work: in the same context, or in the next one.
TEST_CASE("start: whichever call of the driver or of NVRTC fails, the next try works", "[cache]") {
  // With halves the probe of the tensor cores is a part of it.
  const auto text = GENERATE(as<std::string>{}, "nn:f32:5x6x7:bias", "nn:bf16:5x6x8:bias");
  const StartWork work(text.c_str());
  CAPTURE(text, work.seed);
  // Warm PTX is cold PTX without NVRTC.
  const auto [machine_code, warm] = GENERATE(std::pair(false, false), std::pair(true, false), std::pair(true, true));
  const std::size_t which = GENERATE(range(std::size_t{0}, faults.size()));
  const Fault& fault = faults.at(which);
  CAPTURE(machine_code, warm, fault.name);
  // The driver is called in the same places as with machine code: one class of error is enough.
  if (!machine_code && fault.status == MGEMM_OUT_OF_MEMORY && fault.driver) return;
  // And qualifying halves takes long; with a verdict, the probe of the tensor cores is what is left.
  const bool tensor = work.product.problem.in_type != MGEMM_TYPE_F32;
  if (tensor && fault.driver && (!warm || fault.status == MGEMM_OUT_OF_MEMORY)) return;
  const FaultyCalls quick({.without_sync = true});
  std::optional<FakeHelper> helper;
  {
    const FakeBoard board;
    helper.emplace(work.module);
  }
  const std::optional<Variable> off =
      machine_code ? std::nullopt : std::optional<Variable>(std::in_place, "MAMBA_GEMM_HELPER", "off");
  const TempFolder folder;
  int number = 0;
  for (bool has_failed = true; has_failed;) {
    ++number;
    CAPTURE(number);
    const fs::path cache = folder.path() / (warm ? "warm" : std::to_string(number));
    if (warm && number == 1) {
      const FakeBoard board;
      REQUIRE(texts_of(Start(board, work.product, cache.string()).run().failures) == "");
    }
    has_failed = !check_faulty_start(work, fault, number, cache.string()).empty();
  }
  CHECK(number > (fault.driver ? 80 : warm ? 0 : 8));
}

// Catches a start that a fault of the cache's folder keeps from working, or that takes wrong code from it.
TEST_CASE("start: whichever call of the operating system fails, it succeeds", "[cache]") {
  const StartWork work;
  CAPTURE(work.seed);
  const bool warm = GENERATE(false, true);
  // (EACCES and EAGAIN are a lock that others hold, for which a start waits as long as it should.)
  const int error = GENERATE(EIO, ENOSPC);
  const bool for_ever = GENERATE(false, true);
  CAPTURE(warm, error, for_ever);
  FakeBoard board;
  const FakeHelper helper(work.module);
  const Quiet quiet;
  std::int64_t number = 0;
  for (bool has_failed = true; has_failed;) {
    CAPTURE(++number);
    const TempFolder folder;
    const std::string cache = (folder.path() / "cache").string();
    const auto start = [&](const FaultyCalls::Plan& plan) {
      const FaultyCalls calls(plan);
      const Outcome outcome = Start(board, work.product, cache).run();
      CHECK(texts_of(outcome.failures) == "");
      CHECK((outcome.words == work.right));
      return FaultyCalls::calls_made();
    };
    if (warm) start({.without_sync = true});
    has_failed = start({.failing = number, .error = error, .for_ever = for_ever, .without_sync = true}) >= number;
    start({.without_sync = true});
  }
  CHECK(number > (warm ? 10 : 60));
}
