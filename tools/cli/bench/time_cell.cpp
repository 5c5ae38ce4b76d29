#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "bench/operand_sets.hpp"
#include "bench/product.hpp"
#include "bench/session.hpp"

namespace mgemm::cli::bench {
namespace {

/// The symbol without what all have in common.
std::string kernel_name(const mamba_gemm::Launch& launch) {
  constexpr std::string_view prefix = "mgemm_";
  const mgemm_description description = launch.describe();
  std::string_view name(description.kernel);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

/// One problem on the device, with the products of both sides.
class Contest {
 public:
  Contest(Session& session, const mgemm_problem& problem)
      : session_(session),
        problem_(problem),
        sets_(session.context(), problem, session.pool(problem.in_type), session.pool(problem.out_type)),
        launch_(session.context(), problem, sets_.operands(0)) {
    if (session.cublas() != nullptr) product_ = std::make_unique<CublasProduct>(*session.cublas(), problem);
  }

  std::string kernel() const { return kernel_name(launch_); }
  std::size_t heuristics() const { return product_->heuristics(); }
  std::int64_t sets() const { return sets_.count(); }

  void run_ours(std::int64_t index) {
    launch_.bind(sets_.operands(index));
    launch_.run();
  }
  void run_cublas(std::size_t heuristic, std::int64_t index) {
    product_->run(heuristic, sets_.operands(index), session_.stream().handle());
  }

  /// What a run on the first set gives.
  template <typename Run>
  std::vector<std::byte> output_of(const Run& run) {
    sets_.reset_output();
    run(0);
    session_.stream().synchronize();
    return sets_.output();
  }
  double error(std::span<const std::byte> got, std::span<const std::byte> expected) const {
    return relative_error(problem_.out_type, sets_.out_matrix(), got, expected);
  }

 private:
  Session& session_;
  const mgemm_problem problem_;
  OperandSets sets_;
  mamba_gemm::Launch launch_;
  std::unique_ptr<CublasProduct> product_;
};

/// Failure unless a heuristic of cuBLAS's gives what ours does; their relative error norm.
double compare(Contest& contest, std::size_t heuristic, std::span<const std::byte> ours, double bound) {
  const auto theirs = contest.output_of([&](std::int64_t index) { contest.run_cublas(heuristic, index); });
  const double error = contest.error(ours, theirs);
  if (error <= bound) return error;  // false of NaN
  throw Failure(
      fmt::format("ours and cuBLAS's outputs (heuristic {}) differ: relative error norm {:.3g}, at most {:.3g}",
                  heuristic + 1, error, bound));
}

/// A heuristic but the first that was the fastest in a short trial; none if the others cannot be run.
struct Candidate {
  std::size_t heuristic = 0;
  double us = 0;
};
std::optional<Candidate> fastest_other(Session& session, Contest& contest, std::int64_t nodes) {
  constexpr std::int32_t trial_replays = 3;
  std::optional<Candidate> fastest;
  for (std::size_t i = 1; i < contest.heuristics(); ++i) {
    try {
      // Not captured at once: the first run of a kernel loads it.
      contest.run_cublas(i, 0);
      session.stream().synchronize();
      const Graph graph(session.stream(), nodes, [&](std::int64_t index) { contest.run_cublas(i, index); });
      const double us = session.stopwatch().node_us(graph, trial_replays);
      if (!fastest || us < fastest->us) fastest = {i, us};
    } catch (const Failure& failure) {
      if (failure.fatal()) throw;  // and otherwise what cannot be run is not the best
    }
  }
  return fastest;
}

std::vector<Timing> time_all(Session& session, std::span<const Graph* const> graphs) {
  warm_up(session.stopwatch(), graphs, session.take_warm_up());
  return time_interleaved(session.stopwatch(), graphs, session.windows());
}

void time_alone(Session& session, Contest& contest, Cell& cell) {
  contest.run_ours(0);
  const Graph ours = fitting_graph(session.stopwatch(), contest.sets(), [&](std::int64_t i) { contest.run_ours(i); });
  const Graph* const graphs[] = {&ours};
  cell.ours = time_all(session, graphs).front();
}

void time_versus(Session& session, Contest& contest, double bound, Cell& cell) {
  const Stopwatch& stopwatch = session.stopwatch();
  const auto expected = contest.output_of([&](std::int64_t index) { contest.run_ours(index); });
  cell.heuristics = static_cast<std::int32_t>(contest.heuristics());
  cell.disagreement = compare(contest, 0, expected, bound);
  const Graph ours = fitting_graph(stopwatch, contest.sets(), [&](std::int64_t i) { contest.run_ours(i); });
  const Graph first = fitting_graph(stopwatch, contest.sets(), [&](std::int64_t i) { contest.run_cublas(0, i); });
  std::vector<const Graph*> graphs{&ours, &first};
  const std::optional<Candidate> other = fastest_other(session, contest, first.nodes());
  std::optional<Graph> second;
  if (other) {
    compare(contest, other->heuristic, expected, bound);
    second.emplace(session.stream(), first.nodes(), [&](std::int64_t i) { contest.run_cublas(other->heuristic, i); });
    graphs.push_back(&*second);
  }
  std::vector<Timing> timings = time_all(session, graphs);
  cell.best = *std::ranges::min_element(timings.begin() + 1, timings.end(), {}, &Timing::us);
  cell.ours = std::move(timings[0]);
  cell.cublas = std::move(timings[1]);
}

/// Waits for what a failed cell left behind, so that its memory can go; a fault of it is the end.
void settle(const Session& session) { session.stream().synchronize(); }

}  // namespace

Cell time_cell(Session& session, const std::string& text) {
  const mgemm_problem problem = problem_of(text);
  Cell cell;
  cell.problem = text;
  cell.flops = flops_of(problem);
  cell.bytes = bytes_of(problem);
  try {
    Contest contest(session, problem);
    cell.kernel = contest.kernel();
    if (session.cublas() == nullptr) {
      time_alone(session, contest, cell);
    } else {
      time_versus(session, contest, error_bound(problem), cell);
    }
    cell.sm_mhz = session.board().sm_mhz();
  } catch (const mamba_gemm::Error& error) {
    if (error.status_class() == MGEMM_CLASS_FATAL) throw;
    cell.error = fmt::format("{}: {}", error.status_name(), error.what());
    settle(session);
  } catch (const Failure& failure) {
    if (failure.fatal()) throw;
    cell.error = failure.what();
    settle(session);
  }
  return cell;
}

}  // namespace mgemm::cli::bench
