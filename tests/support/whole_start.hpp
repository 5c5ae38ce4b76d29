// A start of the library on the fake board, from making a context to destroying it, through the public interface.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/targets.hpp"
#include "route/dispatch.hpp"
#include "support/device_product.hpp"
#include "support/fake_board.hpp"

namespace mgemm::test {

/// The same random product for all starts of a test, its right output, and the module and kernel for it.
struct StartWork {
  std::uint64_t seed = fresh_seed();
  std::int32_t alignment;  // that the plan is made for
  DeviceProduct product;
  std::vector<std::uint32_t> right;
  std::string module, kernel;

  StartWork(const char* text, std::int32_t bytes) : alignment(bytes) {
    Random random(seed);
    const mgemm_problem parsed = mamba_gemm::parse_problem(text);
    product =
        make_device_product(random, parsed, {.row_alignment = alignment / mamba_gemm::element_bytes(parsed.in_type)});
    right = run_on(mamba_gemm::Context::reference(1), product);
    const Problem problem = problem_from_string(text);
    Board board = board_of(*find_target(9, 0));
    board.multiprocessors = 132;
    const KernelRow* const row = candidates(problem, contract_of(problem, sm90_set), alignment, board).front();
    module = row->module.view();
    kernel = row->symbol.view();
  }
};

struct StartFailure {
  std::string step, text;
  mgemm_status status = MGEMM_OK;
  std::int32_t code = 0;
};

/// A call of the driver, and the step that made it.
struct StartCall {
  std::string step, name;
};

struct StartOutcome {
  std::vector<StartFailure> failures;
  std::vector<StartCall> calls;
  std::string kernel;
  std::vector<std::uint32_t> words;  // of the output and round it
  bool unloaded = true;              // a plan that failed left no module behind
};

inline std::string texts_of(const std::vector<StartFailure>& failures) {
  std::string all;
  for (const StartFailure& failure : failures) all += failure.step + ": " + failure.text + "\n";
  return all;
}

/// One start. A step that fails is tried once more, and then all goes on as if nothing had been.
class Start {
 public:
  Start(FakeBoard& board, const StartWork& work, std::string cache)
      : board_(board), work_(work), cache_(std::move(cache)) {}

  StartOutcome run() {
    board_.driver.take_sequence();
    step("create", [&] {
      mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
      options.cache_dir = cache_.c_str();
      return mgemm_context_create(&context_, &options);
    });
    step("plan", [&] {
      const mgemm_status status = mgemm_plan_create(&plan_, context_, &work_.product.problem, work_.alignment);
      if (status != MGEMM_OK) outcome_.unloaded &= board_.driver.live().modules == 0;
      return status;
    });
    step("describe", [&] {
      mgemm_description description{};
      description.struct_size = sizeof description;
      const mgemm_status status = mgemm_plan_describe(plan_, &description);
      outcome_.kernel = description.kernel;
      return status;
    });
    bring_operands();
    step("wait", [&] { return mgemm_context_wait_stream(context_, 0); });
    step("run", [&] { return mgemm_launch_run(launch_); });
    step("verify", [&] {
      mgemm_verify_report report{};
      report.struct_size = sizeof report;
      return mgemm_launch_verify(launch_, 12, 1, &report);
    });
    step("synchronize", [&] { return mgemm_context_synchronize(context_); });
    outcome_.words.resize(work_.product.out.words.size());
    step("download",
         [&] { return mgemm_download(context_, outcome_.words.data(), memory_[3], work_.product.out.bytes()); });
    step("free", [&] { return mgemm_free(context_, memory_[3]); });  // the others are left to destroy
    stopped_ = false;
    step("destroy", [&] {
      mgemm_launch_destroy(launch_);
      mgemm_plan_destroy(plan_);
      return mgemm_context_destroy(context_);
    });
    return std::move(outcome_);
  }

 private:
  void bring_operands() {
    const DeviceProduct& product = work_.product;
    const std::array matrices{&product.a, &product.b, &product.bias, &product.out};
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const GuardedMatrix& matrix = *matrices.at(i);
      step("alloc", [&] { return mgemm_alloc(context_, matrix.bytes(), &memory_.at(i)); });
      step("upload", [&] { return mgemm_upload(context_, memory_.at(i), matrix.words.data(), matrix.bytes()); });
    }
    const auto at = [&](std::size_t i) { return memory_.at(i) + static_cast<std::uint64_t>(matrices.at(i)->first()); };
    const mgemm_operands operands = mamba_gemm::operands(at(0), at(1), at(3), product.problem.bias == 1 ? at(2) : 0);
    step("bind", [&] { return mgemm_launch_create(&launch_, plan_, &operands); });
  }

  void step(const char* name, const std::function<mgemm_status()>& body) {
    if (stopped_) return;
    stopped_ = true;
    for (int attempt = 0; attempt < 2 && stopped_; ++attempt) {
      const mgemm_status status = body();
      if (status == MGEMM_OK) {
        stopped_ = false;
      } else {
        outcome_.failures.push_back({name, mgemm_last_error(), status, mgemm_last_driver_code()});
      }
    }
    for (std::string& call : board_.driver.take_sequence()) outcome_.calls.push_back({name, std::move(call)});
  }

  FakeBoard& board_;
  const StartWork& work_;
  std::string cache_;
  mgemm_context context_ = 0;
  mgemm_plan plan_ = 0;
  mgemm_launch launch_ = 0;
  std::array<std::uint64_t, 4> memory_{};
  bool stopped_ = false;
  StartOutcome outcome_;
};

}  // namespace mgemm::test
