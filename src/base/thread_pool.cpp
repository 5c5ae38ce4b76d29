#include "base/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/log.hpp"

namespace mgemm {
namespace {

constexpr int most_threads = 1024;

int allowed_processors() {
  // The kernel refuses a set smaller than its own, so grow until it fits.
  for (int size = CPU_SETSIZE; size <= (1 << 20); size *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(size)),
                                                               [](cpu_set_t* p) { CPU_FREE(p); });
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
    if (sched_getaffinity(0, bytes, set.get()) == 0) return std::max(1, CPU_COUNT_S(bytes, set.get()));
    if (errno != EINVAL) break;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// The value of MAMBA_GEMM_THREADS, or 0 if it is not a number from 1 to most_threads.
int parse_threads(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= most_threads;
  return good ? value : 0;
}

/// One call of run_parallel(). Lives on the caller's stack until no thread is inside.
struct Job {
  const Task& task;
  std::int64_t tasks;
  int slots;

  std::atomic<std::int64_t> next{0};
  // The rest is guarded by the pool's mutex.
  int joined = 1;  // slots given out; the caller has slot 0
  int inside = 0;  // workers at it
  std::condition_variable left{};
  std::exception_ptr failure{};

  bool wants_help() const { return joined < slots && next.load(std::memory_order_relaxed) < tasks; }
};

class ThreadPool {
 public:
  ThreadPool(ThreadPool* ancestor, std::uint32_t generation) : ancestor_(ancestor), generation_(generation) {}

  std::uint32_t generation() const { return generation_; }

  void run(Job& job) {
    std::list<Job*> entry{&job};  // the node is made here, so that enqueueing cannot fail half-way
    const auto position = entry.begin();
    {
      const std::lock_guard lock(mutex_);
      start_workers(job.slots - 1);
      queue_.splice(queue_.end(), entry);
    }
    for (int i = 1; i < job.slots; ++i) wake_.notify_one();
    work(job, 0);
    std::unique_lock lock(mutex_);
    queue_.erase(position);
    job.left.wait(lock, [&] { return job.inside == 0; });
    if (job.failure) std::rethrow_exception(job.failure);
  }

 private:
  void start_workers(int wanted) {
    if (workers_ >= wanted) return;
    // Signals belong to the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::exception&) {
      // No more threads to be had: the caller does the work with those there are.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = std::find_if(queue_.begin(), queue_.end(), [](const Job* job) { return job->wants_help(); });
      if (found == queue_.end()) {
        wake_.wait(lock);
        continue;
      }
      Job& job = **found;
      const int slot = job.joined++;
      ++job.inside;
      lock.unlock();
      work(job, slot);
      lock.lock();
      // Under the mutex: the caller may end the job as soon as it sees 0.
      if (--job.inside == 0) job.left.notify_one();
    }
  }

  void work(Job& job, int slot) {
    try {
      for (;;) {
        const std::int64_t index = job.next.fetch_add(1, std::memory_order_relaxed);
        if (index >= job.tasks) return;
        job.task(index, slot);
      }
    } catch (...) {
      job.next.store(job.tasks, std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      if (!job.failure) job.failure = std::current_exception();
    }
  }

  [[maybe_unused]] ThreadPool* ancestor_;  // the parent process's pool, kept reachable so that leak checkers know it
  std::uint32_t generation_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Job*> queue_;
  int workers_ = 0;
};

/// The process's pool. Never destroyed: its threads wait in it until the process ends. In the child of a fork the
/// parent's pool has no threads, and a mutex nobody will unlock, so it is left alone and replaced. No lock here for the
/// same reason.
ThreadPool& pool() {
  static std::atomic<ThreadPool*> current{nullptr};
  const std::uint32_t generation = fork_generation();
  ThreadPool* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->generation() != generation) {
    auto made = std::make_unique<ThreadPool>(found, generation);  // has no threads yet
    if (current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *made.release();
  }
  return *found;
}

}  // namespace

void require_thread_count(const char* name, std::int32_t threads) {
  if (threads < 0 || threads > most_threads) invalid("{} is {}; it must be in 0 .. {}", name, threads, most_threads);
}

std::string threads_objection(std::string_view value) {
  if (parse_threads(value) != 0) return {};
  return fmt::format("{} is '{}'; valid are 1 to {}", threads_variable, value, most_threads);
}

int default_threads() {
  static std::atomic<int> known{0};
  int count = known.load(std::memory_order_relaxed);
  if (count != 0) return count;

  const char* text = std::getenv(threads_variable);
  const int wanted = text != nullptr ? parse_threads(text) : 0;
  const int found = wanted != 0 ? wanted : std::min(allowed_processors(), most_threads);
  if (!known.compare_exchange_strong(count, found)) return count;
  if (text != nullptr && wanted == 0) {
    log(MGEMM_LOG_WARN, "{}. Using {}.", threads_objection(text), found);
  }
  return found;
}

int parallel_slots(std::int64_t tasks, int threads) {
  const int wanted = threads > 0 ? std::min(threads, most_threads) : default_threads();
  return static_cast<int>(std::clamp<std::int64_t>(tasks, 1, wanted));
}

void run_parallel(std::int64_t tasks, int threads, const Task& task) {
  const int slots = parallel_slots(tasks, threads);
  if (slots == 1) {
    for (std::int64_t i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  Job job{.task = task, .tasks = tasks, .slots = slots};
  pool().run(job);
}

}  // namespace mgemm
