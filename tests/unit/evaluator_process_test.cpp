// What the evaluator does with a process: forks of it, and its environment variables.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/thread_pool.hpp"
#include "support/product.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

#if defined(MGEMM_SANITIZED)
constexpr bool any_sanitizer = true;
#else
constexpr bool any_sanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

Product some_product(Random& random) {
  return make_product(random, {Op::nn, 70, 100, 130}, true, 1, 0, [&](auto values) { fill_normal(random, values); });
}

/// Forks, evaluates in the child on several threads, and says whether the bits were right there.
bool right_in_child(const Product& product, const Guarded& wanted) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that waits for threads it does not have must not hang the test
    bool right = false;
    try {
      right =
          evaluated(product, best_isa(), 4).same_bits(wanted) && evaluated(product, best_isa(), 4).same_bits(wanted);
    } catch (...) {
      right = false;
    }
    _exit(right ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Runs the test case below in a new process with these variables set; its output.
std::string report_of_process(const std::string& variables) {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return "";
  const std::string command = variables + " '" + path.data() + "' 'report the choices of this process' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("report the choices of this process", "[.]") {
  for (int twice = 0; twice < 2; ++twice) {
    std::cout << "simd=" << name_of(best_isa()) << ";threads=" << default_threads() << ";\n";
  }
}

// Catches variables that are not obeyed.
TEST_CASE("environment variables choose instruction set and threads", "[evaluator]") {
  for (const Isa isa : supported_isas()) {
    const std::string report = report_of_process(std::string("MAMBA_GEMM_THREADS=3 MAMBA_GEMM_SIMD=") + name_of(isa));
    CAPTURE(report);
    CHECK(occurrences(report, std::string("simd=") + name_of(isa) + ";threads=3;") == 2);
    CHECK(occurrences(report, "MAMBA_GEMM_") == 0);
  }
}

// Catches a misspelt variable that is obeyed somehow, or ignored in silence, or complained of at every call.
TEST_CASE("bad environment variables are ignored with one warning", "[evaluator]") {
  const std::string good = report_of_process("unset MAMBA_GEMM_THREADS MAMBA_GEMM_SIMD MAMBA_GEMM_LOG;");
  const std::string choices = good.substr(good.find("simd="), good.find('\n', good.find("simd=")) - good.find("simd="));
  for (const char* threads : {"0", "-1", "4x", "99999999999", "''"}) {
    const std::string report =
        report_of_process(std::string("MAMBA_GEMM_LOG=warn MAMBA_GEMM_SIMD=sse9 MAMBA_GEMM_THREADS=") + threads);
    CAPTURE(report, choices);
    CHECK(occurrences(report, choices) == 2);
    CHECK(occurrences(report, "MAMBA_GEMM_SIMD is 'sse9'") == 1);
    CHECK(occurrences(report, "MAMBA_GEMM_THREADS is '") == 1);
  }
}

// Catches a child that waits for the parent's worker threads.
TEST_CASE("a child evaluates after fork", "[evaluator]") {
  if (thread_sanitizer) MGEMM_SKIP("the thread sanitizer has no threads after a fork");
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Product product = some_product(random);
  const Guarded wanted = expected(product);
  REQUIRE(evaluated(product, best_isa(), 4).same_bits(wanted));  // the parent's pool has threads now
  CHECK(right_in_child(product, wanted));
  CHECK(evaluated(product, best_isa(), 4).same_bits(wanted));
}

// Catches a lock that another thread of the parent held at the moment of the fork.
TEST_CASE("a child evaluates after a fork amid evaluations", "[evaluator]") {
  if (any_sanitizer) MGEMM_SKIP("the sanitizers' own locks do not survive such a fork");
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const Product product = some_product(random);
  const Guarded wanted = expected(product);
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] {
      while (!stop) evaluated(product, best_isa(), 3);
    });
  }
  int wrong = 0;
  for (int round = 0; round < 50; ++round) wrong += right_in_child(product, wanted) ? 0 : 1;
  stop = true;
  for (std::thread& thread : busy) thread.join();
  CHECK(wrong == 0);
}
