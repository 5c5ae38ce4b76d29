// Plans made ahead, on the fake board.
#include <set>
#include <string>
#include <vector>

#include "support/fake_board.hpp"
#include "support/quiet.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

std::vector<mgemm_problem> some_problems() {
  std::vector<mgemm_problem> problems;
  for (const char* text : {"nn:f32:20x30x40", "nn:f32:2048x640x4096:bias", "tn:f32:64x96x128", "nt:f32:20x30x40",
                           "nn:f32:21x30x40", "nn:f32:0x30x40"}) {
    problems.push_back(mamba_gemm::parse_problem(text));
  }
  return problems;
}

struct Calls {
  std::vector<std::string> what;
  std::int64_t last = 0, total = 0;
  std::int64_t stop_at = -1;
  static std::int32_t note(std::int64_t done, std::int64_t total, const char* what, void* user) {
    auto& calls = *static_cast<Calls*>(user);
    calls.what.emplace_back(what);
    CHECK(done > calls.last);
    calls.last = done;
    calls.total = total;
    return done == calls.stop_at ? 1 : 0;
  }
};

}  // namespace

// Catches a plan that still has to be made after warming up, a problem passed over, progress that is not told.
TEST_CASE("warm-up: nothing is left to be made") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const std::vector<mgemm_problem> problems = some_problems();
  Calls calls;
  const int threads = GENERATE(1, 4);
  REQUIRE(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), 16, threads, Calls::note, &calls) == MGEMM_OK);
  CHECK(calls.last == calls.total);
  CHECK(calls.what.back() == mamba_gemm::to_string(problems.back()));
  const std::size_t compiles = board.nvrtc.compiles().size();
  std::set<std::string> modules;
  for (const auto& call : board.nvrtc.compiles()) modules.insert(call.name);
  CHECK(modules.size() == compiles);  // each once
  board.driver.clear_launches();
  for (const mgemm_problem& problem : problems) {
    mgemm_plan plan = 0;
    REQUIRE(mgemm_plan_create(&plan, gpu.handle(), &problem, 16) == MGEMM_OK);
  }
  CHECK(board.nvrtc.compiles().size() == compiles);
  CHECK(board.driver.launches().empty());  // nothing to qualify either
  REQUIRE(mgemm_warmup(gpu.handle(), nullptr, 0, 0, 0, nullptr, nullptr) == MGEMM_OK);
  REQUIRE(mgemm_warmup(gpu.handle(), nullptr, 0, 3, 0, nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
}

// Catches a stop that is not obeyed, or that is no error.
TEST_CASE("warm-up: progress may stop it") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const std::vector<mgemm_problem> problems = some_problems();
  Calls calls;
  calls.stop_at = 2;
  REQUIRE(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), 0, 1, Calls::note, &calls) == MGEMM_CANCELLED);
  CHECK(calls.what.size() == 2);
  CHECK(board.nvrtc.compiles().size() == 2);
  // What was made stays, and the rest can still be had.
  REQUIRE(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), 0, 1, nullptr, nullptr) == MGEMM_OK);
}

// Catches a failure that keeps the other problems from being made, is lost, or does not say which it was.
TEST_CASE("warm-up: a failure is told with its problem, and the others are made") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  std::vector<mgemm_problem> problems = some_problems();
  problems.insert(problems.begin() + 1, mamba_gemm::parse_problem("nn:f32:2147483647x1x536870912"));
  CHECK(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), 0, 2, nullptr, nullptr) == MGEMM_UNSUPPORTED);
  CHECK(std::string(mgemm_last_error()).find("nn:f32:2147483647x1x536870912") == 0);
  const std::size_t compiles = board.nvrtc.compiles().size();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    mgemm_plan plan = 0;
    CHECK((mgemm_plan_create(&plan, gpu.handle(), &problems[i], 0) == MGEMM_OK) == (i != 1));
  }
  CHECK(board.nvrtc.compiles().size() == compiles);
}

// Catches bad input that is believed.
TEST_CASE("warm-up: bad input is refused by name") {
  const FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  std::vector<mgemm_problem> problems = some_problems();
  const auto refused = [&](const char* words, std::int32_t alignment, std::int32_t threads) {
    CHECK(mgemm_warmup(gpu.handle(), problems.data(), problems.size(), alignment, threads, nullptr, nullptr) ==
          MGEMM_INVALID_ARGUMENT);
    CHECK(std::string(mgemm_last_error()).find(words) != std::string::npos);
  };
  refused("alignment is 3", 3, 0);
  refused("threads is -1", 0, -1);
  refused("threads is 1025", 0, 1025);
  problems[2].m = -5;
  refused("problems[2]: problem.m is -5", 0, 0);
  problems[2] = problems[0];
  problems[3].struct_size = 8;
  refused("problems[3].struct_size is 8", 0, 0);
  CHECK(mgemm_warmup(gpu.handle(), nullptr, 1, 0, 0, nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
  CHECK(mgemm_warmup(12345, nullptr, 0, 0, 0, nullptr, nullptr) == MGEMM_BAD_HANDLE);
  CHECK(board.nvrtc.compiles().empty());
}

// Catches a reference device that cannot be warmed up like any other.
TEST_CASE("warm-up: the reference device plans") {
  const mamba_gemm::Context reference = mamba_gemm::Context::reference(1);
  const std::vector<mgemm_problem> problems = some_problems();
  Calls calls;
  REQUIRE(mgemm_warmup(reference.handle(), problems.data(), problems.size(), 0, 0, Calls::note, &calls) == MGEMM_OK);
  CHECK(calls.total == static_cast<std::int64_t>(problems.size()));
}
