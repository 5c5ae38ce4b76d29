#include "progress.hpp"

#include <unistd.h>

#include <fmt/core.h>

#include "failure.hpp"

namespace mgemm::cli {

Progress::Progress() {
  if (::isatty(STDERR_FILENO) == 1) thread_ = std::jthread([this](std::stop_token stop) { show(std::move(stop)); });
}

void Progress::phase(std::string_view name) {
  const std::lock_guard lock(mutex_);
  phase_ = name;
}

void Progress::show(std::stop_token stop) {
  using namespace std::chrono_literals;
  std::chrono::milliseconds pause = 1s;
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    pause = 100ms;
    shown = true;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    say(fmt::format("\r\x1b[K{} ... {:.1f} s", phase_, elapsed.count()));
  }
  if (shown) say("\r\x1b[K");
}

}  // namespace mgemm::cli
