#include "context/warmup.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "kernel/describe.hpp"
#include "module/loader.hpp"
#include "route/dispatch.hpp"

namespace mgemm {
namespace {

/// The kernels that dispatch would choose first, each once.
std::vector<const KernelRow*> first_choices(const Context& context, std::span<const WarmupItem> items) {
  std::vector<const KernelRow*> rows;
  if (context.cuda == nullptr) return rows;
  for (const auto& [problem, alignment] : items) {
    if (output_rows(problem) == 0 || output_columns(problem) == 0) continue;
    // The same kernels in every set: its slices are all that dispatch looks at.
    const Contract contract = contract_of(problem, tensor_sets.front());
    const auto all = candidates(problem, contract, alignment, board_of(context.device->facts()));
    const auto first = std::ranges::find_if(all, [&p = problem](const KernelRow* row) { return fits_grid(*row, p); });
    if (first != all.end() && std::ranges::find(rows, *first) == rows.end()) rows.push_back(*first);
  }
  return rows;
}

/// Counts steps for all threads; only the calling one reports.
class Steps {
 public:
  Steps(std::int64_t total, const WarmupProgress& progress) : total_(total), progress_(progress) {}

  bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void finish(const char* what, bool is_caller) {
    const std::int64_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (is_caller && !is_stopped() && !progress_(done, total_, what)) stopped_.store(true, std::memory_order_relaxed);
  }

 private:
  std::int64_t total_;
  const WarmupProgress& progress_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace

bool warm_up(Context& context, std::span<const WarmupItem> items, int threads, const WarmupProgress& progress) {
  require_no_capture(context, "warming up");
  const std::vector<const KernelRow*> rows = first_choices(context, items);
  Steps steps(static_cast<std::int64_t>(rows.size() + items.size()), progress);
  run_parallel(static_cast<std::int64_t>(rows.size()), threads, [&](std::int64_t index, int slot) {
    if (steps.is_stopped()) return;
    const KernelRow& row = *rows.at(static_cast<size_t>(index));
    try {
      load_kernel(*context.cuda, row, context.cache_directory);
    } catch (const Error&) {
      // Planning meets it again, and says which problem it is for.
    }
    steps.finish(row.module.c_str(), slot == 0);
  });
  std::exception_ptr first_failure;
  for (const auto& [problem, alignment] : items) {
    if (steps.is_stopped()) return false;
    try {
      plan_for(context, problem, alignment);
    } catch (const Error& error) {
      if (error.status() == MGEMM_DEVICE_LOST) throw;
      const std::string text = fmt::format("{}: {}", to_string(problem), error.what());
      if (!first_failure) first_failure = std::make_exception_ptr(Error(error.status(), text, error.driver_code()));
    }
    steps.finish(to_string(problem).c_str(), true);
  }
  if (first_failure) std::rethrow_exception(first_failure);
  return !steps.is_stopped();
}

}  // namespace mgemm
