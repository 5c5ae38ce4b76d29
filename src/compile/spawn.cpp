#include "compile/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace mgemm {
namespace {

[[noreturn]] void fail_start(const std::string& program, const char* call, int error) {
  fail(MGEMM_COMPILE, "{} could not be started: {}: {}", program, call, std::generic_category().message(error));
}

/// What is not passed on: code that is loaded into us for our sake, and the language of messages.
bool passed_on(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  constexpr std::array<std::string_view, 4> dropped{"LD_PRELOAD", "LD_AUDIT", "LANG", "LANGUAGE"};
  return std::ranges::find(dropped, name) == dropped.end() && !name.starts_with("LC_");
}

std::vector<std::string> child_environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (passed_on(*entry)) variables.emplace_back(*entry);
  }
  variables.emplace_back("LC_ALL=C");
  return variables;
}

struct Channel {
  Descriptor ours;
  Descriptor theirs;
};

/// Ours without blocking; theirs above the three that the child gets, so that putting one in its place closes no other.
Channel channel_of(const std::string& program, const std::array<int, 2>& ends) {
  Channel channel{Descriptor(ends[0]), Descriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) fail_start(program, "fcntl", errno);
  if (ends[1] <= STDERR_FILENO) {
    channel.theirs = Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!channel.theirs) fail_start(program, "fcntl", errno);
  }
  return channel;
}

Channel to_child(const std::string& program) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail_start(program, "socketpair", errno);
  return channel_of(program, ends);
}

Channel from_child(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_start(program, "pipe", errno);
  return channel_of(program, ends);
}

class FileActions {
 public:
  FileActions() : error_(::posix_spawn_file_actions_init(&actions_)) {}
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  FileActions(FileActions&&) = delete;
  FileActions& operator=(FileActions&&) = delete;

  void place(const Descriptor& from, int to) { note(::posix_spawn_file_actions_adddup2(&actions_, from.get(), to)); }
  void close_others() { note(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1)); }
  int error() const { return error_; }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void note(int error) {
    if (error_ == 0) error_ = error;
  }

  posix_spawn_file_actions_t actions_{};
  int error_;
};

/// No signal blocked or ignored, whatever the host does with its own.
class Attributes {
 public:
  Attributes() : error_(::posix_spawnattr_init(&attributes_)) {
    sigset_t none{};
    sigset_t all{};
    ::sigemptyset(&none);
    ::sigfillset(&all);
    if (error_ == 0) error_ = ::posix_spawnattr_setsigmask(&attributes_, &none);
    if (error_ == 0) error_ = ::posix_spawnattr_setsigdefault(&attributes_, &all);
    if (error_ == 0) error_ = ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  Attributes(Attributes&&) = delete;
  Attributes& operator=(Attributes&&) = delete;

  int error() const { return error_; }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
  int error_;
};

}  // namespace

bool Child::reap(int flags) noexcept {
  if (gone_) return true;
  int status = 0;
  pid_t result = 0;
  do {
    result = ::waitpid(pid_, &status, flags);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return false;
  gone_ = true;
  if (result == pid_) wait_status_ = status;
  return true;
}

bool Child::ended() { return reap(WNOHANG); }

void Child::stop(std::chrono::milliseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!reap(WNOHANG)) {
    if (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    // It was there a moment ago, so the number is still its own.
    killed_ = true;
    ::kill(pid_, SIGKILL);
    reap(0);
  }
}

std::string Child::ending() const {
  if (!wait_status_) return "ended; how is not known, for this process ignores SIGCHLD or waits for all children";
  const int status = *wait_status_;
  if (WIFEXITED(status)) return fmt::format("exited with status {}", WEXITSTATUS(status));
  if (killed_ && WTERMSIG(status) == SIGKILL) return "went on without an answer and was stopped";
  const char* const name = ::sigabbrev_np(WTERMSIG(status));
  if (name == nullptr) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("was killed by SIG{}", name);
}

bool Child::crashed() const {
  if (!wait_status_ || !WIFSIGNALED(*wait_status_)) return false;
  constexpr std::array faults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
  return std::ranges::find(faults, WTERMSIG(*wait_status_)) != faults.end();
}

SpawnedProgram spawn(const std::string& program) {
  Channel input = to_child(program);
  Channel output = from_child(program);
  Channel errors = from_child(program);
  FileActions actions;
  actions.place(input.theirs, STDIN_FILENO);
  actions.place(output.theirs, STDOUT_FILENO);
  actions.place(errors.theirs, STDERR_FILENO);
  actions.close_others();
  if (actions.error() != 0) fail_start(program, "posix_spawn_file_actions", actions.error());
  const Attributes attributes;
  if (attributes.error() != 0) fail_start(program, "posix_spawnattr", attributes.error());

  std::string name = program;
  const std::array<char*, 2> arguments{name.data(), nullptr};
  std::vector<std::string> variables = child_environment();
  std::vector<char*> environment;
  environment.reserve(variables.size() + 1);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), arguments.data(), environment.data());
  if (error != 0) fail_start(program, "posix_spawn", error);
  return {Child(pid), std::move(input.ours), std::move(output.ours), std::move(errors.ours)};
}

}  // namespace mgemm
