#include "base/thread_pool.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/test.hpp"

using namespace mgemm;

// Catches tasks that are lost or run twice, and slots that two threads hold at once.
TEST_CASE("every task runs once, on a slot of its own", "[thread_pool]") {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::int64_t tasks : {0, 1, 2, 1000}) {
      CAPTURE(threads, tasks);
      std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
      std::vector<std::atomic<int>> busy(static_cast<size_t>(parallel_slots(tasks, threads)));
      std::atomic<int> clashes{0};
      run_parallel(tasks, threads, [&](std::int64_t task, int slot) {
        if (busy.at(static_cast<size_t>(slot)).exchange(1) != 0) ++clashes;
        ++runs.at(static_cast<size_t>(task));
        busy.at(static_cast<size_t>(slot)) = 0;
      });
      CHECK(clashes == 0);
      for (const auto& count : runs) REQUIRE(count == 1);
    }
  }
}

// Catches a limit on threads that is not kept.
TEST_CASE("slots are limited by threads and tasks", "[thread_pool]") {
  CHECK(parallel_slots(0, 8) == 1);
  CHECK(parallel_slots(3, 8) == 3);
  CHECK(parallel_slots(100, 8) == 8);
  CHECK(parallel_slots(100, 1) == 1);
  CHECK(parallel_slots(std::int64_t{1} << 40, 0) == default_threads());
  CHECK(default_threads() >= 1);
}

// Catches work that stays on the caller: two tasks that can only end together need two threads.
TEST_CASE("tasks run side by side", "[thread_pool]") {
  std::atomic<int> arrived{0};
  run_parallel(2, 2, [&](std::int64_t, int) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  CHECK(arrived == 2);
}

// Catches a deadlock of workers that wait for workers.
TEST_CASE("a task may submit tasks", "[thread_pool]") {
  std::atomic<int> runs{0};
  run_parallel(8, 4, [&](std::int64_t, int) {
    run_parallel(8, 4, [&](std::int64_t, int) { run_parallel(3, 2, [&](std::int64_t, int) { ++runs; }); });
  });
  CHECK(runs == 8 * 8 * 3);
}

// Catches exceptions that are lost, end the process, or leave the pool unusable.
TEST_CASE("an exception reaches the caller", "[thread_pool]") {
  for (const int threads : {1, 4}) {
    for (const std::int64_t bad : {0, 50, 99}) {
      CAPTURE(threads, bad);
      const auto task = [&](std::int64_t i, int) {
        if (i == bad) throw std::runtime_error("task");
      };
      CHECK_THROWS_AS(run_parallel(100, threads, task), std::runtime_error);
      std::atomic<int> runs{0};
      run_parallel(10, threads, [&](std::int64_t, int) { ++runs; });
      CHECK(runs == 10);
    }
  }
}

// Catches a queue that mixes up jobs, or a job that ends before its workers have left.
TEST_CASE("several threads submit at once", "[thread_pool]") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> runs{0};
        run_parallel(6, 3, [&](std::int64_t, int) { ++runs; });
        if (runs != 6) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
