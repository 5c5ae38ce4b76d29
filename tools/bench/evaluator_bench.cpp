// Billions of multiply-adds a second that evaluate() reaches, for each type, operation and instruction set.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "numeric/element.hpp"
#include "numeric/evaluator.hpp"

namespace {

using mgemm::Isa;

struct Options {
  std::int64_t m = 512, k = 1024, n = 512;
  int threads = 1;
  int runs = 7;
};

/// Room for f32, half of it used by half types.
std::vector<float> random_elements(mgemm::Type type, std::int64_t count) {
  std::mt19937_64 random{std::random_device{}()};
  std::normal_distribution<float> normal;
  std::vector<float> room(static_cast<size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    mgemm::with_elements(type, [&](auto elements) { elements.store(room.data(), i, normal(random)); });
  }
  return room;
}

/// The median over the runs, after one that is not counted.
double billions_per_second(const mgemm::Problem& problem, Isa isa, const Options& options) {
  const auto a = random_elements(problem.in_type, layout_a(problem).rows * problem.lda);
  const auto b = random_elements(problem.in_type, layout_b(problem).rows * problem.ldb);
  std::vector<float> out(static_cast<size_t>(output_rows(problem) * problem.ldout));
  mgemm_operands operands{};
  operands.a = reinterpret_cast<std::uintptr_t>(a.data());
  operands.b = reinterpret_cast<std::uintptr_t>(b.data());
  operands.out = reinterpret_cast<std::uintptr_t>(out.data());
  const mgemm::EvaluatorInput input = evaluator_input(problem, contract_of(problem, mgemm::sm90_set), operands);

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

mgemm::Problem problem_of(mgemm::Op op, mgemm::Type type, const Options& o) {
  mgemm::Problem p;
  p.op = op;
  p.in_type = type;
  p.out_type = default_out_type(op, type);
  p.m = o.m;
  p.k = o.k;
  p.n = o.n;
  p.lda = layout_a(p).columns;
  p.ldb = layout_b(p).columns;
  p.ldout = output_columns(p);
  p.beta = mgemm::default_beta(op);
  return p;
}

void run(const Options& options) {
  fmt::print("{} x {} x {}, {} thread(s), billions of multiply-adds a second\n", options.m, options.k, options.n,
             options.threads);
  for (const auto& [type, type_name] : mgemm::type_names) {
    for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
      if (!mgemm::is_supported(isa)) continue;
      fmt::print("{:5}{:8}", type_name, name_of(isa));
      for (const auto& [op, op_name] : mgemm::op_names) {
        fmt::print("  {} {:7.3f}", op_name, billions_per_second(problem_of(op, type, options), isa, options));
      }
      fmt::print("\n");
    }
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
