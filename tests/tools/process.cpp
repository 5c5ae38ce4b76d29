#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "temp_folder.hpp"

namespace mgemm::test {
namespace {

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_changed = std::any_of(changes.begin(), changes.end(), [&](const std::string& change) {
      return name_of(change) == name_of(*variable);
    });
    if (!is_changed) result.emplace_back(*variable);
  }
  for (const std::string& change : changes)
    if (change.find('=') != std::string::npos) result.push_back(change);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Finished run_tool(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  const TempFolder folder;
  const std::string out = folder.file("out"), err = folder.file("err");
  std::vector<std::string> words{MGEMM_TOOL_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = changed_environment(environment);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  constexpr mode_t mode = 0600;
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, mode);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, mode);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, pointers(words).data(),
                                   pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + words.front());
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  constexpr int signal_base = 128;
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : signal_base + WTERMSIG(status);
  return {exit_code, read_bytes(out), read_bytes(err)};
}

}  // namespace mgemm::test
