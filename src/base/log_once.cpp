#include "base/log_once.hpp"

#include <mutex>
#include <set>

#include "base/log.hpp"
#include "base/per_process.hpp"

namespace mgemm {
namespace {

struct Logged {
  std::mutex mutex;
  std::set<std::string> lines;

  bool insert(const std::string& line) {
    const std::lock_guard lock(mutex);
    return lines.insert(line).second;
  }
};
constinit PerProcess<Logged> logged;

}  // namespace

void log_once(int level, const std::string& line) noexcept {
  if (!log_enabled(level)) return;
  try {
    if (logged.get().insert(line)) log_line(level, line);
  } catch (...) {
    // As in log(): it is lost, and the call that caused it goes on.
  }
}

}  // namespace mgemm
