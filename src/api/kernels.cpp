#include "api/boundary.hpp"
#include "base/thread_pool.hpp"
#include "cache/location.hpp"
#include "catalogue/launch_counts.hpp"
#include "compile/compiler.hpp"
#include "module/inventory.hpp"

using namespace mgemm;

namespace {

std::int32_t state_of(const KernelReport& report) {
  if (report.has_failed) return MGEMM_KERNEL_FAILED;
  if (!report.is_compiled) return MGEMM_KERNEL_LISTED;
  return report.reason.empty() ? MGEMM_KERNEL_READY : MGEMM_KERNEL_EXCLUDED;
}

/// Points into `report` and `target`.
mgemm_kernel_info info_of(const KernelReport& report, const std::string& target) {
  mgemm_kernel_info info{};
  info.struct_size = sizeof info;
  info.kernel = report.row->symbol.c_str();
  info.module = report.row->module.c_str();
  info.target = target.c_str();
  info.reason = report.reason.c_str();
  info.state = state_of(report);
  info.threads = report.row->threads();
  info.shared_bytes = report.row->shared_bytes();
  info.registers = report.facts.registers;
  info.local_bytes = report.facts.local_bytes;
  info.static_shared_bytes = report.facts.static_shared_bytes;
  info.seconds = report.seconds;
  info.launches = launches_of(number_of(*report.row));
  return info;
}

}  // namespace

mgemm_status mgemm_kernels(const char* targets, int32_t compile, int32_t threads, const char* cache_dir,
                           mgemm_kernel_fn fn, void* user) noexcept {
  return guarded([&] {
    require_not_null(targets, "targets");
    if (fn == nullptr) invalid("fn is NULL");
    if (compile != 0 && compile != 1) invalid("compile is {}; it must be 0 or 1", compile);
    require_thread_count("threads", threads);
    const std::vector<const CompileTarget*> chosen = parse_targets(targets);
    const InventoryOptions options{compile == 1, threads, cache_location_for(cache_dir, "cache_dir").path};
    const bool complete = take_inventory(chosen, options, [&](const KernelReport& report) {
      const std::string target = machine_target(report.target->exact);
      const mgemm_kernel_info info = info_of(report, target);
      return fn(&info, user) == 0;
    });
    if (!complete) fail(MGEMM_CANCELLED, "stopped by fn");
  });
}
