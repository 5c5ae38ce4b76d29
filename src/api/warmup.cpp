#include <vector>

#include "api/alignment.hpp"
#include "api/boundary.hpp"
#include "base/thread_pool.hpp"
#include "context/warmup.hpp"

using namespace mgemm;

namespace {

/// The caller's array, whose elements may be larger than ours.
std::vector<Problem> problems_of(const mgemm_problem* problems, std::size_t count) {
  std::vector<Problem> checked;
  if (count == 0) return checked;
  const std::size_t stride = checked_struct_size(problems, "problems[0]");
  const auto* next = reinterpret_cast<const unsigned char*>(problems);
  for (std::size_t i = 0; i < count; ++i, next += stride) {
    const auto* const problem = reinterpret_cast<const mgemm_problem*>(next);
    if (problem->struct_size != stride) {
      invalid("problems[{}].struct_size is {}; it must be {}, that of problems[0]", i, problem->struct_size, stride);
    }
    try {
      checked.push_back(check_problem(read_struct(problem, "problem")));
    } catch (const Error& error) {
      throw Error(error.status(), fmt::format("problems[{}]: {}", i, error.what()));
    }
  }
  return checked;
}

}  // namespace

mgemm_status mgemm_warmup(mgemm_context context, const mgemm_problem* problems, size_t count, int32_t alignment,
                          int32_t threads, mgemm_progress_fn progress, void* user) noexcept {
  return context_call(context, [&](Context& c) {
    require_thread_count("threads", threads);
    const std::vector<Problem> checked = problems_of(problems, count);
    const auto report = [&](std::int64_t done, std::int64_t total, const char* what) {
      return progress == nullptr || progress(done, total, what, user) == 0;
    };
    const std::int32_t promised = checked_alignment(alignment, Type::f32);
    if (!warm_up(c, checked, promised, threads, report)) fail(MGEMM_CANCELLED, "stopped by progress");
  });
}
