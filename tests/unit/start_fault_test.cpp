// A whole start on the fake board, with calls of the driver, of NVRTC and of the operating system made to fail in turn.
#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/captured_log.hpp"
#include "support/fake_helper.hpp"
#include "support/faulty_calls.hpp"
#include "support/quiet.hpp"
#include "support/test.hpp"
#include "support/whole_start.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

/// What a failing call answers, and what the library must make of it.
struct Fault {
  const char* name;
  std::optional<cuda::Result> driver;
  std::optional<nvrtc_abi::Result> nvrtc;
  mgemm_status status;
  std::int32_t code;
};

constexpr std::array<Fault, 2> driver_faults{{
    {"driver error", cuda::Result::Unknown, std::nullopt, MGEMM_DRIVER, 999},
    {"driver out of memory", cuda::Result::OutOfMemory, std::nullopt, MGEMM_OUT_OF_MEMORY, 2},
}};
constexpr std::array<Fault, 2> nvrtc_faults{{
    {"NVRTC error", std::nullopt, nvrtc_abi::Result::InternalError, MGEMM_COMPILE, 11},
    {"NVRTC out of memory", std::nullopt, nvrtc_abi::Result::OutOfMemory, MGEMM_OUT_OF_MEMORY, 1},
}};

/// What a start multiplies, and the alignment its plan is made for.
struct StartProblem {
  const char* text;
  std::int32_t alignment;
};

constexpr StartProblem floats{"nn:f32:5x6x7:bias", 4};
constexpr StartProblem halves{"nn:bf16:5x6x8:bias", 4};                    // with the probe of the tensor cores
constexpr StartProblem clusters{"tn:bf16:1024x8x8:out=f32:beta=0.5", 16};  // and with tensor maps

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

/// A start in which a call failed, and which; "" if none did.
std::string check_faulty_start(const StartWork& work, const Fault& fault, int number, const std::string& cache) {
  FakeBoard board;
  const CapturedLog log;
  if (fault.driver) board.driver.fail_nth_of_all(number, *fault.driver);
  if (fault.nvrtc) board.nvrtc.fail_nth_of_all(number, *fault.nvrtc);
  const StartOutcome outcome = Start(board, work, cache).run();
  const std::string call = fault.driver ? board.driver.failed_call() : board.nvrtc.failed_call();
  CAPTURE(call);
  if (outcome.failures.empty()) {
    // It was survived. The log says how, unless a second look was all it took.
    if (!call.empty() && call != "cuCtxPopCurrent") CHECK(log.has(call));
  } else {
    const StartFailure& failure = outcome.failures.front();
    CAPTURE(failure.step, failure.text);
    CHECK_FALSE(call.empty());
    CHECK(outcome.failures.size() == 1);
    CHECK(failure.status == fault.status);
    CHECK(failure.code == fault.code);
    CHECK(failure.text.find(call) != std::string::npos);
  }
  CHECK(outcome.unloaded);
  CHECK(outcome.kernel == work.kernel);
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
  const StartOutcome next = Start(board, work, cache).run();
  CHECK(texts_of(next.failures) == "");
  CHECK(next.kernel == work.kernel);
  CHECK((next.words == work.right));
  CHECK(objects(board.driver.live()) == left);
  return call;
}

/// Starts that share a helper program. Cold ones have a cache's folder each, warm ones have one that is filled.
class Starts {
 public:
  Starts(const StartWork& work, bool machine_code, bool warm) : work_(work), warm_(warm) {
    {
      const FakeBoard board;
      helper_.emplace(work.module);
    }
    if (!machine_code) off_.emplace("MAMBA_GEMM_HELPER", "off");
    if (warm) check_good();
  }

  /// One in which nothing fails, and the calls it makes of the driver.
  std::vector<StartCall> check_good() {
    FakeBoard board;
    const StartOutcome outcome = Start(board, work_, next_cache()).run();
    CHECK(texts_of(outcome.failures) == "");
    CHECK(outcome.kernel == work_.kernel);
    CHECK((outcome.words == work_.right));
    return outcome.calls;
  }

  /// One in which a call fails, and which; "" if there is none of this number, from 1.
  std::string check_faulty(const Fault& fault, std::size_t number) {
    CAPTURE(number);
    return check_faulty_start(work_, fault, static_cast<int>(number), next_cache());
  }

 private:
  std::string next_cache() { return (folder_.path() / (warm_ ? "warm" : std::to_string(++caches_))).string(); }

  const StartWork& work_;
  bool warm_;
  int caches_ = 0;
  FaultyCalls quick_{{.without_sync = true}};
  TempFolder folder_;
  std::optional<FakeHelper> helper_;
  std::optional<Variable> off_;
};

/// Makes calls of these numbers fail, from 1, a start each. Gives their names.
std::set<std::string> sweep(Starts& starts, const Fault& fault, const std::vector<StartCall>& calls,
                            const std::set<std::size_t>& numbers) {
  std::set<std::string> failed;
  for (const std::size_t number : numbers) {
    const std::string call = starts.check_faulty(fault, number);
    CHECK(call == calls.at(number - 1).name);
    failed.insert(call);
  }
  return failed;
}

/// Where a plan calls the driver: how many modules it has loaded, the two calls before, and the call itself. And the
/// numbers of those calls, from 1.
using Places = std::map<std::pair<int, std::array<std::string, 3>>, std::set<std::size_t>>;

Places places_in_plan(const std::vector<StartCall>& calls) {
  Places places;
  int modules = 0;
  for (std::size_t i = 2; i < calls.size(); ++i) {
    const auto& [step, name] = calls[i];
    if (step == "plan") places[{modules, {calls[i - 2].name, calls[i - 1].name, name}}].insert(i + 1);
    if (name == "cuModuleLoadDataEx") ++modules;
  }
  return places;
}

}  // namespace

// Catches a failed call that is not an error of its class with its name, that leaks, that leaves a context current, or
// after which the library does not work, or with another kernel: in the same context, or in the next one. And a sweep
// that loses a function.
//
// Cold starts are swept up to the end of the plan: what comes after it makes the same calls in warm ones.
TEST_CASE("start: whichever call of the driver fails, the next try works", "[cache]") {
  const auto [problem, machine_code, warm] = GENERATE(table<const StartProblem*, bool, bool>({
      {&floats, false, false},  // warm PTX is cold PTX without NVRTC
      {&floats, true, false},
      {&floats, true, true},
      {&halves, true, true},
      {&clusters, true, true},
  }));
  const Fault fault = GENERATE(driver_faults[0], driver_faults[1]);
  // The driver is called in the same places as with machine code: one class of error is enough.
  if (!machine_code && fault.status == MGEMM_OUT_OF_MEMORY) return;
  const StartWork work(problem->text, problem->alignment);
  CAPTURE(problem->text, work.seed, machine_code, warm, fault.name);
  Starts starts(work, machine_code, warm);
  const std::vector<StartCall> calls = starts.check_good();
  std::set<std::size_t> swept;
  std::set<std::string> expected;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& [step, name] = calls[i];
    if (!warm && step != "create" && step != "plan") continue;
    swept.insert(i + 1);
    expected.insert(name);
  }
  const std::set<std::string> failed = sweep(starts, fault, calls, swept);
  CHECK(failed == expected);
  CHECK(failed.size() > 20);
  CHECK(failed.contains("cuTensorMapEncodeTiled") == (problem == &clusters));
  CHECK(failed.contains("cuLaunchKernelEx") == (problem == &clusters));
}

// Catches the same where a kernel for halves is qualified, which takes long: many products by the same calls, which are
// done once to find out which tensor cores there are, and once for each kernel.
//
// Swept is the plan, for what comes after it is the same as above: of the calls at each place the first and the last.
// Left out are those of the products in between, and with clusters, whose products are large, the places that a plan
// without them has too.
TEST_CASE("start: whichever call of the driver fails in qualifying, the next try works", "[cache]") {
  const auto [problem, machine_code] = GENERATE(table<const StartProblem*, bool>({
      {&halves, false},
      {&halves, true},
      {&clusters, true},
  }));
  const Fault fault = GENERATE(driver_faults[0], driver_faults[1]);
  // As above. And warm starts with clusters are swept with both classes of errors.
  if ((!machine_code || problem == &clusters) && fault.status == MGEMM_OUT_OF_MEMORY) return;
  const StartWork work(problem->text, problem->alignment);
  CAPTURE(problem->text, work.seed, machine_code, fault.name);
  Places known;
  if (problem == &clusters) {
    const StartWork small(halves.text, halves.alignment);
    known = places_in_plan(Starts(small, machine_code, false).check_good());
  }
  Starts starts(work, machine_code, false);
  const std::vector<StartCall> calls = starts.check_good();
  std::set<std::size_t> ends;
  std::set<std::string> expected;
  for (const auto& [place, numbers] : places_in_plan(calls)) {
    if (known.contains(place)) continue;
    ends.insert({*numbers.begin(), *numbers.rbegin()});
    expected.insert(place.second.back());
  }
  const std::set<std::string> failed = sweep(starts, fault, calls, ends);
  CHECK(failed == expected);
  for (const char* const name : {"cuModuleLoadDataEx", "cuModuleUnload", "cuLaunchKernel"}) {
    CHECK(failed.contains(name) == (problem == &halves));
  }
  for (const char* const name : {"cuTensorMapEncodeTiled", "cuLaunchKernelEx"}) {
    CHECK(failed.contains(name) == (problem == &clusters));
  }
}

// Catches the same of NVRTC.
TEST_CASE("start: whichever call of NVRTC fails, the next try works", "[cache]") {
  const StartProblem problem = GENERATE(floats, halves);
  const StartWork work(problem.text, problem.alignment);
  CAPTURE(problem.text, work.seed);
  const bool machine_code = GENERATE(false, true);
  const Fault fault = GENERATE(nvrtc_faults[0], nvrtc_faults[1]);
  CAPTURE(machine_code, fault.name);
  Starts starts(work, machine_code, false);
  std::size_t number = 1;
  while (!starts.check_faulty(fault, number).empty()) ++number;
  CHECK(number > 8);
}

// Catches a start that a fault of the cache's folder keeps from working, or that takes wrong code from it.
TEST_CASE("start: whichever call of the operating system fails, it succeeds", "[cache]") {
  const StartWork work("nn:f32:5x6x7:bias", 4);
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
      const StartOutcome outcome = Start(board, work, cache).run();
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
