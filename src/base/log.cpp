#include "base/log.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include "base/fork_safe_lock.hpp"
#include "base/lazy.hpp"

namespace mgemm {
namespace {

struct LevelName {
  std::string_view name;
  int level;
  spdlog::level::level_enum spd;
};

constexpr std::array<LevelName, 5> level_names{{
    {"off", MGEMM_LOG_OFF, spdlog::level::off},
    {"error", MGEMM_LOG_ERROR, spdlog::level::err},
    {"warn", MGEMM_LOG_WARN, spdlog::level::warn},
    {"info", MGEMM_LOG_INFO, spdlog::level::info},
    {"dispatch", MGEMM_LOG_DISPATCH, spdlog::level::debug},
}};

const LevelName* find_level(std::string_view name) noexcept {
  for (const LevelName& entry : level_names) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

struct Sink {
  mgemm_log_fn fn = nullptr;
  void* user = nullptr;
};

struct LogState {
  ForkSafeLock lock;  // guards sink
  Sink sink;
  ForkSafeLock stderr_lock;  // guards stderr_logger, whose own locks would not survive a fork
  std::atomic<int> level{MGEMM_LOG_WARN};
  std::string unknown_level;  // what MAMBA_GEMM_LOG says if it is not a level
  std::atomic<bool> has_complained{false};
  // Our own logger object: spdlog's registry has static destructors and belongs to the host program.
  spdlog::logger stderr_logger{"mamba-gemm", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>()};

  LogState() {
    stderr_logger.set_level(spdlog::level::trace);
    stderr_logger.set_pattern("mamba-gemm: %^%l%$: %v");
    stderr_logger.flush_on(spdlog::level::trace);
    const char* text = std::getenv(log_variable);
    if (text == nullptr) return;
    if (const LevelName* const known = find_level(text)) {
      level = known->level;
    } else {
      // Not written here: this may be one of two states made at once, and stderr may block.
      unknown_level = text;
    }
  }
};

using Messages = std::vector<std::pair<int, std::string>>;  // level and line

/// Where this thread's messages wait; nullptr if they do not.
thread_local Messages* deferred = nullptr;

void deliver_all(const Messages& messages) noexcept {
  for (const auto& [level, line] : messages) log_line(level, line);
}

constinit Lazy<LogState> lazy_state;

LogState& state() {
  return lazy_state.get([] { return LogState(); });
}

}  // namespace

std::string log_objection(std::string_view value) {
  if (find_level(value) != nullptr) return {};
  return fmt::format("{} is '{}'; valid are off, error, warn, info, dispatch", log_variable, value);
}

bool log_enabled(int level) noexcept {
  try {
    return level != MGEMM_LOG_OFF && level <= state().level.load(std::memory_order_relaxed);
  } catch (...) {
    return false;
  }
}

void log_line(int level, const std::string& line) noexcept {
  try {
    if (deferred != nullptr) {
      deferred->emplace_back(level, line);
      return;
    }
    LogState& log = state();
    if (!log.unknown_level.empty() && !log.has_complained.exchange(true)) {
      log_line(MGEMM_LOG_WARN, log_objection(log.unknown_level) + "; using warn");
    }
    Sink sink;
    {
      const std::lock_guard lock(log.lock);
      sink = log.sink;
    }
    if (sink.fn != nullptr) {
      sink.fn(level, line.c_str(), sink.user);
      return;
    }
    const std::lock_guard lock(log.stderr_lock);
    log.stderr_logger.log(level_names.at(static_cast<size_t>(level)).spd, spdlog::string_view_t(line));
  } catch (...) {
    // A message that cannot be delivered is lost; the call that caused it goes on.
  }
}

LogDeferral::LogDeferral() noexcept : outermost_(deferred == nullptr) {
  if (outermost_) deferred = new (std::nothrow) Messages;
}

LogDeferral::~LogDeferral() {
  if (!outermost_) return;
  const std::unique_ptr<const Messages> messages(std::exchange(deferred, nullptr));
  if (messages != nullptr) deliver_all(*messages);
}

void LogCapture::run(const std::function<void()>& body) {
  Messages* const before = std::exchange(deferred, &messages_);
  try {
    body();
  } catch (...) {
    deferred = before;
    throw;
  }
  deferred = before;
}

void LogCapture::deliver() noexcept {
  deliver_all(messages_);
  messages_.clear();
}

void set_log(int level, mgemm_log_fn fn, void* user) {
  LogState& log = state();
  const std::lock_guard lock(log.lock);
  log.sink = {fn, user};
  log.level.store(level, std::memory_order_relaxed);
}

}  // namespace mgemm
