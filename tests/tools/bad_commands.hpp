#pragma once
#include <span>
#include <string>
#include <vector>

namespace mgemm::test {

struct BadCommand {
  std::vector<std::string> arguments;
  const char* reason;  // part of what is said of it
};

/// Checks that each is the caller's fault by its exit code, and that stderr alone says why, behind the tool's name.
void check_refused(std::span<const BadCommand> commands);

}  // namespace mgemm::test
