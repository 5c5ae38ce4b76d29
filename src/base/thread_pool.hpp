#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mgemm {

constexpr const char* threads_variable = "MAMBA_GEMM_THREADS";

/// What is wrong with a value of that variable; "" if it is a number from 1 to 1024.
std::string threads_objection(std::string_view value);

/// The processors this process may run on, or MAMBA_GEMM_THREADS if that is a number from 1 to 1024. Asked once a
/// process.
int default_threads();

/// Throws MGEMM_INVALID_ARGUMENT unless it is a number of threads to ask for, 0 to 1024; `name` is what it is called.
void require_thread_count(const char* name, std::int32_t threads);

/// What runs in parallel: the number of the task, and a number below the count of threads that no other thread has at
/// the same time (for scratch memory).
using Task = std::function<void(std::int64_t task, int slot)>;

/// How many slots run_parallel() hands out for these arguments: at least 1, never more than tasks.
int parallel_slots(std::int64_t tasks, int threads);

/// Calls task(0 .. tasks - 1) on up to `threads` threads (0: default_threads()), of which the caller is one, and
/// returns when all are done. The first exception of a task is thrown to the caller; tasks not begun by then are
/// dropped. May be called from several threads, from within a task, and in the child of a fork.
void run_parallel(std::int64_t tasks, int threads, const Task& task);

}  // namespace mgemm
