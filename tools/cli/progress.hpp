#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace mgemm::cli {

/// A line on stderr with the current phase and the elapsed time, rewritten in place and cleared at the end. Shown only
/// on a terminal and only after a second.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;
  /// Stops the thread, which clears the line.
  ~Progress() = default;

  void phase(std::string_view name);

 private:
  void show(std::stop_token stop);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string phase_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace mgemm::cli
