#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

using mamba_gemm::Context;

namespace {

/// A reference context with a plan and a launch of a small product.
struct Objects {
  mgemm_context context = 0;
  mgemm_plan plan = 0;
  mgemm_launch launch = 0;
  std::vector<float> a, b, out;
  mgemm_operands operands{};

  explicit Objects(const char* text = "nn:f32:4x4x4", size_t elements = 16)
      : a(elements, 1.0F), b(elements, 2.0F), out(elements, 0.0F) {
    const mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
    mamba_gemm::check(mgemm_context_create(&context, &options));
    const mgemm_problem problem = mamba_gemm::parse_problem(text);
    mamba_gemm::check(mgemm_plan_create(&plan, context, &problem, 0));
    operands = mamba_gemm::operands(mamba_gemm::host_address(a.data()), mamba_gemm::host_address(b.data()),
                                    mamba_gemm::host_address(out.data()));
    mamba_gemm::check(mgemm_launch_create(&launch, plan, &operands));
  }
  ~Objects() {
    mgemm_launch_destroy(launch);
    mgemm_plan_destroy(plan);
    mgemm_context_destroy(context);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
};

bool last_error_has(const std::string& words) {
  return std::string(mgemm_last_error()).find(words) != std::string::npos;
}

}  // namespace

// Catches a use after free behind a stale handle, and one kind of handle taken for another.
TEST_CASE("stale, foreign and invented handles are recognised") {
  const Objects o;
  REQUIRE(mgemm_launch_run(0) == MGEMM_BAD_HANDLE);
  REQUIRE(mgemm_launch_run(12345) == MGEMM_BAD_HANDLE);
  REQUIRE(mgemm_launch_run(~std::uint64_t{0}) == MGEMM_BAD_HANDLE);
  REQUIRE(mgemm_launch_run(o.plan) == MGEMM_BAD_HANDLE);
  REQUIRE(last_error_has("is a plan handle; a launch handle is needed"));
  REQUIRE(mgemm_context_synchronize(o.launch) == MGEMM_BAD_HANDLE);
  REQUIRE(mgemm_plan_destroy(o.context) == MGEMM_BAD_HANDLE);

  mgemm_launch second = 0;
  mamba_gemm::check(mgemm_launch_create(&second, o.plan, &o.operands));
  REQUIRE(mgemm_launch_destroy(second) == MGEMM_OK);
  REQUIRE(mgemm_launch_destroy(second) == MGEMM_BAD_HANDLE);
  // The slot is used again under another generation.
  mgemm_launch third = 0;
  mamba_gemm::check(mgemm_launch_create(&third, o.plan, &o.operands));
  REQUIRE(third != second);
  REQUIRE(mgemm_launch_run(second) == MGEMM_BAD_HANDLE);
  REQUIRE(mgemm_launch_run(third) == MGEMM_OK);
  REQUIRE(mgemm_launch_destroy(third) == MGEMM_OK);
}

TEST_CASE("destroying 0 is fine") {
  REQUIRE(mgemm_context_destroy(0) == MGEMM_OK);
  REQUIRE(mgemm_plan_destroy(0) == MGEMM_OK);
  REQUIRE(mgemm_launch_destroy(0) == MGEMM_OK);
}

// Catches launches that use the memory of a context that is gone.
TEST_CASE("plans and launches outlive their context only to be destroyed") {
  Objects o;
  REQUIRE(mgemm_context_destroy(o.context) == MGEMM_OK);
  REQUIRE(mgemm_launch_run(o.launch) == MGEMM_BAD_HANDLE);
  REQUIRE(last_error_has("that this launch belongs to was destroyed"));
  REQUIRE(mgemm_launch_validate(o.launch) == MGEMM_BAD_HANDLE);
  mgemm_description description{};
  description.struct_size = sizeof description;
  REQUIRE(mgemm_plan_describe(o.plan, &description) == MGEMM_BAD_HANDLE);
  REQUIRE(last_error_has("that this plan belongs to was destroyed"));
  REQUIRE(mgemm_launch_destroy(o.launch) == MGEMM_OK);
  REQUIRE(mgemm_plan_destroy(o.plan) == MGEMM_OK);
  o.context = o.plan = o.launch = 0;
}

TEST_CASE("launches keep working after their plan is destroyed") {
  Objects o;
  REQUIRE(mgemm_plan_destroy(o.plan) == MGEMM_OK);
  o.plan = 0;
  REQUIRE(mgemm_launch_run(o.launch) == MGEMM_OK);
  REQUIRE(o.out.at(0) == 8.0F);
}

// Catches a race between two threads on one context: the second must be told, not let in.
TEST_CASE("a second thread on a busy context gets MGEMM_BUSY") {
  const Objects o("nn:f32:1024x1024x1024", size_t{1024} * 1024);
  std::atomic<bool> stop{false};
  std::atomic<int> other{0};
  std::thread runner([&] {
    while (!stop) {
      // The watcher, too, holds the context for moments.
      if (const mgemm_status status = mgemm_launch_run(o.launch); status != MGEMM_OK && status != MGEMM_BUSY) ++other;
    }
  });
  int busy = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (busy == 0 && std::chrono::steady_clock::now() < deadline) {
    std::uint64_t stream = 0;
    const mgemm_status status = mgemm_context_stream(o.context, &stream);
    if (status == MGEMM_BUSY) ++busy;
    if (status != MGEMM_OK && status != MGEMM_BUSY) ++other;
    std::this_thread::yield();
  }
  stop = true;
  runner.join();
  REQUIRE(busy > 0);
  REQUIRE(other == 0);
}

// Catches handle tables that are not thread-safe.
TEST_CASE("many threads make and destroy objects of their own") {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        try {
          const Objects o;
          if (mgemm_launch_run(o.launch) != MGEMM_OK || o.out[15] != 8.0F) ++failures;
        } catch (const mamba_gemm::Error&) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(failures == 0);
}

// Catches a slot that is given to a new owner while the old one still holds it: BUSY for a handle nobody shares.
TEST_CASE("handles of one thread are never busy because of another thread's") {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const Objects o;
      for (int round = 0; round < 4000; ++round) {
        mgemm_launch launch = 0;
        if (mgemm_launch_create(&launch, o.plan, &o.operands) != MGEMM_OK) ++failures;
        if (mgemm_launch_validate(launch) != MGEMM_OK) ++failures;
        if (mgemm_launch_destroy(launch) != MGEMM_OK) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(failures == 0);
}

// Catches a child that hangs on its parent's locks or threads, or works on its parent's objects.
TEST_CASE("after fork the child's inherited handles say so and new contexts work") {
#if defined(__SANITIZE_THREAD__)
  MGEMM_SKIP("the thread sanitizer does not follow a fork of a process with threads");
#endif
  Objects o("nn:f32:256x256x256", size_t{256} * 256);
  mamba_gemm::check(mgemm_launch_run(o.launch));  // starts the evaluator's threads
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr unsigned time_limit = 60;
    alarm(time_limit);
    int failure = 0;
    const auto expect = [&](bool holds, int code) {
      if (!holds && failure == 0) failure = code;
    };
    expect(mgemm_launch_run(o.launch) == MGEMM_FORKED, 1);
    expect(mgemm_context_synchronize(o.context) == MGEMM_FORKED, 2);
    expect(mgemm_launch_destroy(o.launch) == MGEMM_OK, 3);
    expect(mgemm_plan_destroy(o.plan) == MGEMM_OK, 4);
    expect(mgemm_context_destroy(o.context) == MGEMM_OK, 5);
    expect(mgemm_context_destroy(o.context) == MGEMM_BAD_HANDLE, 6);
    try {
      const Objects mine("nn:f32:256x256x256", size_t{256} * 256);
      expect(mgemm_launch_run(mine.launch) == MGEMM_OK, 7);
      expect(mine.out[0] == 512.0F, 8);
    } catch (const mamba_gemm::Error&) {
      expect(false, 9);
    }
    _exit(failure);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  REQUIRE(mgemm_launch_run(o.launch) == MGEMM_OK);
}
