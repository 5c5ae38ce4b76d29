// The progress line, on a pseudo-terminal.
#include "progress.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "support/test.hpp"
#include "temp_folder.hpp"

using namespace std::chrono_literals;
using mgemm::cli::Progress;

namespace {

/// stderr of this process leads to `descriptor` as long as the object lives.
class StandardError {
 public:
  explicit StandardError(int descriptor) : saved_(::dup(STDERR_FILENO)) { ::dup2(descriptor, STDERR_FILENO); }
  ~StandardError() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  int saved_;
};

struct Terminal {
  int master = -1, slave = -1;
  Terminal() { REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0); }
  ~Terminal() {
    ::close(master);
    ::close(slave);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
};

/// What has been written to the other end, waiting for the first of it.
std::string read_for(int master, std::chrono::milliseconds longest) {
  std::string text;
  pollfd ready{master, POLLIN, 0};
  while (::poll(&ready, 1, static_cast<int>((text.empty() ? longest : 0ms).count())) == 1) {
    char buffer[4096];
    const ssize_t count = ::read(master, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

constexpr std::string_view cleared = "\r\x1b[K";

}  // namespace

// Catches a line that stays on the terminal, comes too early, or keeps an old phase.
TEST_CASE("the progress line comes after a second and goes at the end") {
  const Terminal terminal;
  const StandardError redirected(terminal.slave);
  {
    Progress progress;
    progress.phase("reading");
    std::this_thread::sleep_for(500ms);
    CHECK(read_for(terminal.master, 0ms).empty());
    std::this_thread::sleep_for(800ms);
    progress.phase("checking");
    std::this_thread::sleep_for(300ms);
  }
  const std::string text = read_for(terminal.master, 0ms);
  CAPTURE(text);
  CHECK(text.starts_with(std::string(cleared) + "reading ... 1."));
  CHECK(text.find(std::string(cleared) + "checking ... 1.") != std::string::npos);
  CHECK(text.ends_with(cleared));
}

// Catches a line for work that is done at once.
TEST_CASE("short work shows no progress line") {
  const Terminal terminal;
  const StandardError redirected(terminal.slave);
  {
    Progress progress;
    progress.phase("reading");
    std::this_thread::sleep_for(50ms);
  }
  CHECK(read_for(terminal.master, 0ms).empty());
}

// Catches control characters in log files.
TEST_CASE("no progress line where stderr is no terminal") {
  const mgemm::test::TempFolder folder;
  const std::string name = folder.file("err");
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(file >= 0);
  {
    const StandardError redirected(file);
    Progress progress;
    progress.phase("reading");
    std::this_thread::sleep_for(1300ms);
  }
  ::close(file);
  CHECK(mgemm::test::read_bytes(name).empty());
}

// Catches a command that shows none. It is ended once it does, for it would run for hours.
TEST_CASE("run shows the progress line") {
  int master = -1;
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::forkpty(&master, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    ::execl(MGEMM_TOOL_PATH, MGEMM_TOOL_PATH, "run", "nn:f32:1024x1024x1024", "--device", "reference", "--threads", "1",
            "--repeat", "1000000", nullptr);
    ::_exit(127);
  }
  const std::string text = read_for(master, 60s);
  const auto after = std::chrono::steady_clock::now() - start;
  ::kill(child, SIGKILL);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  ::close(master);
  CAPTURE(text);
  CHECK(text.starts_with(cleared));
  CHECK(text.find(" ... ") != std::string::npos);
  CHECK(after >= 1s);
}
