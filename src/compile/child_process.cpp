#include "compile/child_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/chrono.h>

#include "compile/spawn.hpp"

namespace mgemm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kept_error_bytes = 1000;
/// How often to see whether the program has ended: a process that somebody forks off us while we start it holds copies
/// of our channels, so that their end need not come with the program's.
constexpr milliseconds look_again{100};
/// Between the end of a program's output and its own.
constexpr milliseconds patience_after_output{200};

enum class Read { data, nothing, end };

class Talk {
 public:
  Talk(SpawnedProgram& program, std::string_view input, const BytesWanted& wanted)
      : program_(program), input_(input), wanted_(wanted) {}

  /// Until the output is complete (true), or has ended (false), or the time is up (false).
  bool run(Clock::time_point deadline);
  /// What is left of the errors, as far as it is there.
  void drain_errors();
  bool late() const { return late_; }

  Conversation conversation;

 private:
  bool complete() const { return conversation.output.size() >= wanted_(conversation.output); }
  void send();
  Read read_output();
  Read read_errors();

  SpawnedProgram& program_;
  std::string_view input_;
  const BytesWanted& wanted_;
  bool late_ = false;
};

Read read_some(const Descriptor& from, std::string& to, std::size_t most) {
  std::array<char, 65536> buffer{};
  const ssize_t size = ::read(from.get(), buffer.data(), std::min(buffer.size(), most));
  if (size < 0) return errno == EAGAIN || errno == EINTR ? Read::nothing : Read::end;
  to.append(buffer.data(), static_cast<std::size_t>(size));
  return size == 0 ? Read::end : Read::data;
}

void Talk::send() {
  const ssize_t sent = ::send(program_.input.get(), input_.data(), input_.size(), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent > 0) input_.remove_prefix(static_cast<std::size_t>(sent));
  // All said, or nobody listens; an answer may come in either case.
  if (sent < 0 || input_.empty()) {
    ::shutdown(program_.input.get(), SHUT_WR);
    program_.input.reset();
  }
}

/// Not a byte more than is wanted, so that what follows a complete output cannot matter.
Read Talk::read_output() {
  std::string& output = conversation.output;
  return read_some(program_.output, output, wanted_(output) - output.size());
}

Read Talk::read_errors() {
  std::string more;
  const Read result = read_some(program_.errors, more, SIZE_MAX);
  std::string& errors = conversation.errors;
  errors.append(more, 0, kept_error_bytes - std::min(errors.size(), kept_error_bytes));
  if (result == Read::end) program_.errors.reset();
  return result;
}

void Talk::drain_errors() {
  constexpr int most_reads = 16;  // it may be flooded faster than it is read
  for (int reads = 0; reads < most_reads && program_.errors && read_errors() == Read::data; ++reads) {
  }
}

bool Talk::run(Clock::time_point deadline) {
  while (!complete()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    late_ = left <= milliseconds(0);
    if (late_) return false;
    const bool ended = program_.child.ended();
    std::array<pollfd, 3> waits{{{program_.input.get(), POLLOUT, 0},  // poll passes over a negative number
                                 {program_.output.get(), POLLIN, 0},
                                 {program_.errors.get(), POLLIN, 0}}};
    const int events =
        ::poll(waits.data(), waits.size(), ended ? 0 : static_cast<int>(std::min(left, look_again).count()));
    if (events < 0) continue;  // EINTR; anything else ends with the time
    if (waits[0].revents != 0) send();
    if (waits[2].revents != 0) read_errors();
    if (waits[1].revents != 0 && read_output() == Read::end) return complete();
    if (waits[1].revents == 0 && ended) return false;
  }
  return true;
}

}  // namespace

Conversation converse(const std::string& program, std::string_view input, const BytesWanted& wanted,
                      milliseconds time_limit) {
  constexpr milliseconds longest = std::chrono::hours(24);  // nothing to overflow the clock with
  const auto deadline = Clock::now() + std::min(time_limit, longest);
  SpawnedProgram spawned = spawn(program);
  Talk talk(spawned, input, wanted);
  const bool complete = talk.run(deadline);
  talk.drain_errors();
  spawned.child.stop(complete || talk.late() ? milliseconds(0) : patience_after_output);
  if (talk.late()) {
    talk.conversation.ending = fmt::format("did not answer within {} and was stopped", time_limit);
  } else if (!complete) {
    talk.conversation.ending = spawned.child.ending();
    talk.conversation.crashed = spawned.child.crashed();
  }
  return std::move(talk.conversation);
}

}  // namespace mgemm
