#include "module/inventory.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread_pool.hpp"
#include "compile/artifact.hpp"
#include "compile/compiler.hpp"
#include "compile/helper_path.hpp"
#include "device/driver_table.hpp"

namespace mgemm {
namespace {

const CompileTarget& target_named(std::string_view name) {
  const std::string_view spelled = architecture_in(name);
  const std::string_view wanted = spelled.empty() ? name : spelled;
  for (const CompileTarget& target : compile_targets) {
    if (wanted == architecture_in(target.exact)) return target;
  }
  std::string known;
  for (const CompileTarget& target : compile_targets) known += fmt::format(" {}", machine_target(target.exact));
  invalid("'{}' is no target; there are{}", name, known);
}

Artifact find_or_make(const ModuleRequest& request, double& seconds) {
  if (auto cached = cached_machine_code_of(request)) return *std::move(cached);
  const HelperLocation helper = find_helper(process_environment());
  if (helper.path.empty()) fail(MGEMM_UNSUPPORTED, "there is no program to make machine code: {}", helper.reason);
  const auto start = std::chrono::steady_clock::now();
  Artifact made = assemble_machine_code_of(request, helper.path);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}

void examine(KernelReport& report, const InventoryOptions& options) {
  const KernelRow& row = *report.row;
  const CompileTarget& target = *report.target;
  try {
    const Artifact code = find_or_make(
        {row.module.view(), target.major, target.minor, driver_version(), options.cache_directory}, report.seconds);
    const auto logged = read_assembler_log(code.log);
    report.is_compiled = true;
    report.reason = reason_to_exclude(row, logged, {target.shared_bytes}, report.facts);
  } catch (const Error& error) {
    report.has_failed = true;
    report.reason = error.what();
  }
}

/// Done in any order by many threads, handed out in order by one.
class Queue {
 public:
  explicit Queue(std::vector<KernelReport> reports) : reports_(std::move(reports)), is_done_(reports_.size()) {}

  std::int64_t size() const { return static_cast<std::int64_t>(reports_.size()); }
  KernelReport& at(std::int64_t index) { return reports_.at(static_cast<size_t>(index)); }
  void finish(std::int64_t index) { is_done_.at(static_cast<size_t>(index)).store(true, std::memory_order_release); }

  bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// Visits what is done and comes next.
  void hand_out(const std::function<bool(const KernelReport&)>& visit) {
    while (!is_stopped() && next_ < reports_.size() && is_done_.at(next_).load(std::memory_order_acquire)) {
      if (!visit(reports_.at(next_++))) stopped_.store(true, std::memory_order_relaxed);
    }
  }

 private:
  std::vector<KernelReport> reports_;
  std::vector<std::atomic<bool>> is_done_;
  std::atomic<bool> stopped_{false};
  size_t next_ = 0;
};

}  // namespace

std::vector<const CompileTarget*> parse_targets(std::string_view text) {
  std::vector<const CompileTarget*> targets;
  if (text == "all") {
    for (const CompileTarget& target : compile_targets) targets.push_back(&target);
    return targets;
  }
  for (;;) {
    const size_t comma = text.find(',');
    targets.push_back(&target_named(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

bool take_inventory(const std::vector<const CompileTarget*>& targets, const InventoryOptions& options,
                    const std::function<bool(const KernelReport&)>& visit) {
  std::vector<KernelReport> reports;
  for (const CompileTarget* const target : targets) {
    for (const KernelRow& row : catalogue()) {
      if (!holds(row, board_of(*target))) continue;
      KernelReport report;
      report.row = &row;
      report.target = target;
      reports.push_back(std::move(report));
    }
  }
  Queue queue(std::move(reports));
  run_parallel(queue.size(), options.threads, [&](std::int64_t index, int slot) {
    if (queue.is_stopped()) return;
    if (options.compile) examine(queue.at(index), options);
    queue.finish(index);
    if (slot == 0) queue.hand_out(visit);  // the caller's thread
  });
  queue.hand_out(visit);
  return !queue.is_stopped();
}

}  // namespace mgemm
