#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mgemm {

/// How a program that was run ended, and what it said.
struct Conversation {
  std::string output;
  std::string errors;    // the first bytes of its stderr
  std::string ending;    // for people: "was killed by SIGSEGV"; "" if it was stopped because its output was complete
  bool crashed = false;  // a fault of its own ended it before that
};

/// How many bytes of output there must be in all before it is worth looking again; the output is complete when there
/// are that many.
using BytesWanted = std::function<std::size_t(std::string_view output)>;

/// Runs a program without arguments, gives it `input` and takes its output until that is complete, the program has
/// ended or the time is up; then the program is gone and reaped. Its environment is ours without what is preloaded into
/// us, in the C locale; of our descriptors it has none. No signal reaches us, whatever it does, and what the host does
/// about SIGCHLD does not matter. Any number of threads. MGEMM_COMPILE if it cannot be started.
Conversation converse(const std::string& program, std::string_view input, const BytesWanted& wanted,
                      std::chrono::milliseconds time_limit);

}  // namespace mgemm
