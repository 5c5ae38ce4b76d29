// The log of a scope.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace mgemm::test {

/// Takes every message up to a level instead of stderr.
class CapturedLog {
 public:
  explicit CapturedLog(int level = MGEMM_LOG_INFO) { set_log(level, receive, &lines_); }
  ~CapturedLog() { set_log(MGEMM_LOG_WARN, nullptr, nullptr); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;
  CapturedLog(CapturedLog&&) = delete;
  CapturedLog& operator=(CapturedLog&&) = delete;

  const std::vector<std::string>& lines() const { return lines_; }
  bool has(const std::string& words) const {
    return std::ranges::any_of(lines_, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }

 private:
  static void receive(std::int32_t /*level*/, const char* line, void* lines) {
    static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
  }
  std::vector<std::string> lines_;
};

}  // namespace mgemm::test
