// Billions of fused multiply-adds a second that evaluate() reaches, for each operation and instruction set.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "numeric/evaluator.hpp"

namespace {

using mgemm::Isa;

struct Options {
  std::int64_t m = 512, k = 1024, n = 512;
  int threads = 1;
  int runs = 7;
};

std::vector<float> random_floats(std::int64_t count) {
  std::mt19937_64 random{std::random_device{}()};
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

/// The median over the runs, after one that is not counted.
double billions_per_second(const mgemm::Problem& problem, Isa isa, const Options& options) {
  const auto a = random_floats(layout_a(problem).rows * problem.lda);
  const auto b = random_floats(layout_b(problem).rows * problem.ldb);
  std::vector<float> out(static_cast<size_t>(output_rows(problem) * problem.ldout));
  mgemm_operands operands{};
  operands.a = reinterpret_cast<std::uintptr_t>(a.data());
  operands.b = reinterpret_cast<std::uintptr_t>(b.data());
  operands.out = reinterpret_cast<std::uintptr_t>(out.data());
  const mgemm::EvaluatorInput input = evaluator_input(problem, operands);

  mgemm::evaluate(input, isa, options.threads);
  std::vector<double> rates;
  for (int run = 0; run < options.runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    mgemm::evaluate(input, isa, options.threads);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    rates.push_back(static_cast<double>(options.m) * static_cast<double>(options.k) * static_cast<double>(options.n) /
                    spent.count());
  }
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

std::array<mgemm::Problem, 3> problems(const Options& o) {
  using mgemm::Op;
  return {mgemm::Problem{.op = Op::nn, .m = o.m, .k = o.k, .n = o.n, .lda = o.k, .ldb = o.n, .ldout = o.n},
          mgemm::Problem{.op = Op::tn, .m = o.m, .k = o.k, .n = o.n, .lda = o.k, .ldb = o.n, .ldout = o.n, .beta = 1},
          mgemm::Problem{.op = Op::nt, .m = o.m, .k = o.k, .n = o.n, .lda = o.n, .ldb = o.n, .ldout = o.k}};
}

void run(const Options& options) {
  constexpr std::array names{"nn", "tn", "nt"};
  fmt::print("{} x {} x {}, {} thread(s), GFMA/s\n", options.m, options.k, options.n, options.threads);
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
    if (!mgemm::is_supported(isa)) continue;
    fmt::print("{:8}", name_of(isa));
    const auto all = problems(options);
    for (size_t i = 0; i < all.size(); ++i) {
      fmt::print("  {} {:7.2f}", names.at(i), billions_per_second(all.at(i), isa, options));
    }
    fmt::print("\n");
  }
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a bench may end by an exception
int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Speed of the evaluator"};
  app.add_option("-m", options.m, "Batch rows")->check(CLI::PositiveNumber);
  app.add_option("-k", options.k, "Input features")->check(CLI::PositiveNumber);
  app.add_option("-n", options.n, "Output features")->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Threads, 0 for all")->check(CLI::NonNegativeNumber);
  app.add_option("--runs", options.runs, "Runs to take the median of")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  run(options);
  return 0;
}
