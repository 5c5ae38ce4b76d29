// Other processes for a test: this binary again with one of its hidden test cases, or a fork.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mgemm::test {

/// A process that is killed, if it still runs, at the end of the scope.
class Child {
 public:
  /// Runs a test case in a new process, with these variables ("NAME=value") besides the ones of this process.
  Child(const std::string& test_case, std::vector<std::string> variables) {
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    std::vector<char*> environment;
    environment.reserve(variables.size() + 1);
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string name = test_case;
    std::vector<char*> arguments{self.data(), name.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawn(&id_, self.c_str(), &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("posix_spawn failed");
  }
  ~Child() { kill_now(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Child& operator=(Child&&) = delete;

  /// The exit code, or 128 and the signal.
  int wait() {
    int status = 0;
    if (id_ <= 0 || waitpid(std::exchange(id_, -1), &status, 0) < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void kill_now() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    wait();
  }

 private:
  pid_t id_ = -1;
};

/// Forks and calls; the exit code of the child, which is what `call` gives, 99 if it throws.
template <typename Call>
int in_fork(Call call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);  // a child that waits for what never comes must not hang the test
    int code = 99;
    try {
      code = call();
    } catch (...) {
      code = 99;
    }
    _exit(code);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Waits until a condition holds, a minute at most. Whether it does.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// A variable that a parent has set.
inline std::string given(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) throw std::runtime_error(std::string(name) + " is not set");
  return text;
}

}  // namespace mgemm::test
