#include <vector>

#include "api/alignment.hpp"
#include "api/boundary.hpp"
#include "base/thread_pool.hpp"
#include "context/warmup.hpp"

using namespace mgemm;

namespace {

/// The caller's array, whose elements may be larger than ours.
std::vector<WarmupItem> items_of(const mgemm_problem* problems, std::size_t count, std::int32_t alignment) {
  std::vector<WarmupItem> items;
  if (count == 0) return items;
  const std::size_t stride = checked_struct_size(problems, "problems[0]");
  const auto* next = reinterpret_cast<const unsigned char*>(problems);
  for (std::size_t i = 0; i < count; ++i, next += stride) {
    const auto* const problem = reinterpret_cast<const mgemm_problem*>(next);
    if (problem->struct_size != stride) {
      invalid("problems[{}].struct_size is {}; it must be {}, that of problems[0]", i, problem->struct_size, stride);
    }
    try {
      const Problem checked = check_problem(read_struct(problem, "problem"));
      items.push_back({checked, plan_alignment(alignment, checked)});
    } catch (const Error& error) {
      throw Error(error.status(), fmt::format("problems[{}]: {}", i, error.what()));
    }
  }
  return items;
}

}  // namespace

mgemm_status mgemm_warmup(mgemm_context context, const mgemm_problem* problems, size_t count, int32_t alignment,
                          int32_t threads, mgemm_progress_fn progress, void* user) noexcept {
  return context_call(context, [&](Context& c) {
    require_thread_count("threads", threads);
    require_alignment(alignment, size_of(Type::bf16));  // of no problem in particular, so for the smallest elements
    const std::vector<WarmupItem> items = items_of(problems, count, alignment);
    const auto report = [&](std::int64_t done, std::int64_t total, const char* what) {
      return progress == nullptr || progress(done, total, what, user) == 0;
    };
    if (!warm_up(c, items, threads, report)) fail(MGEMM_CANCELLED, "stopped by progress");
  });
}
