#include "compile/assemble.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "catalogue/embedded.hpp"
#include "compile/module_text.hpp"
#include "support/environment.hpp"
#include "support/raises.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"
#include "support/wgmma_kernels.hpp"

namespace fs = std::filesystem;
using mgemm::AssembledModule;
using mgemm::AssembleLimits;
using mgemm::AssembleRequest;
using mgemm::CompileRequest;
using mgemm::EmbeddedFile;
using mgemm::Error;
using mgemm::NvrtcCandidate;
using mgemm::test::error_of;
using mgemm::test::write_bytes;
using mgemm::test::write_script;
using std::chrono::milliseconds;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr std::array<EmbeddedFile, 1> headers{{{"shape.cuh", "#pragma once\nconstexpr int width = 7;\n"}}};

constexpr const char* source = R"(
#include "shape.cuh"
extern "C" __global__ void scale_by_width(float* out) { out[threadIdx.x] *= width; }
)";

CompileRequest module_of(std::string text) { return {"test.cu", std::move(text), headers, "compute_90a"}; }

AssembleRequest request_for(const NvrtcCandidate& nvrtc, std::string text = source) {
  return mgemm::assemble_request(module_of(std::move(text)), nvrtc);
}

/// For programs that do not look at it.
AssembleRequest any_request() { return request_for({"/nowhere/libnvrtc.so.13", "", {13, 0}, "/nowhere/b.so", ""}); }

/// This machine's NVRTC, which is never loaded into this process.
std::optional<NvrtcCandidate> real_nvrtc() { return mgemm::nvrtc_by_name(mgemm::process_environment(), 0); }

/// What a helper gives; only its beginning is looked at.
const std::string machine_code = "\177ELF machine code";

std::string good_response() { return mgemm::encode_response({MGEMM_OK, {13, 0}, "a warning", machine_code}); }

std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

/// Nothing may be left of what was run, however it went.
class NothingLeft {
 public:
  NothingLeft() = default;
  ~NothingLeft() {
    CHECK(open_descriptors() == descriptors_);
    errno = 0;
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
  }
  NothingLeft(const NothingLeft&) = delete;
  NothingLeft& operator=(const NothingLeft&) = delete;
  NothingLeft(NothingLeft&&) = delete;
  NothingLeft& operator=(NothingLeft&&) = delete;

 private:
  std::ptrdiff_t descriptors_ = open_descriptors();
};

/// What this process does about a signal, for a scope.
class SignalAction {
 public:
  SignalAction(int number, void (*handler)(int)) : number_(number) {
    struct sigaction action {};
    action.sa_handler = handler;  // without SA_RESTART, so that calls are interrupted
    ::sigaction(number, &action, &before_);
  }
  ~SignalAction() { ::sigaction(number_, &before_, nullptr); }
  SignalAction(const SignalAction&) = delete;
  SignalAction& operator=(const SignalAction&) = delete;
  SignalAction(SignalAction&&) = delete;
  SignalAction& operator=(SignalAction&&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

/// The value of a variable of this process with more at its end.
std::string longer(const char* name, const std::string& more) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? more : std::string(value) + ":" + more;
}

struct Scripts {
  mgemm::test::TempFolder folder;

  /// `$R` is a file with these bytes.
  std::string script(const std::string& commands, const std::string& response = good_response()) const {
    const fs::path path = folder.path() / "helper";
    write_bytes(folder.path() / "response", response);
    return write_script(path, "R='" + (folder.path() / "response").string() + "'\n" + commands);
  }
};

std::string error_text(const std::string& helper, const AssembleRequest& request, const AssembleLimits& limits) {
  const Error error = error_of([&] { mgemm::assemble(helper, request, limits); });
  CHECK(error.status() == MGEMM_COMPILE);
  CHECK(contains(error.what(), "module test.cu"));
  return error.what();
}

/// The set in a line of /proc/self/status, without the C library's own 32 and 33, which nobody else may set.
std::uint64_t signals_in(const std::string& text, const std::string& label) {
  constexpr std::uint64_t own = std::uint64_t{3} << 31U;
  const std::size_t at = text.find(label);
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + label.size()), nullptr, 16) & ~own;
}

constexpr AssembleLimits patient{milliseconds(60'000)};

}  // namespace

// Catches: a module of ours that does not assemble, a wrong architecture, kernels that are not exported, output that
// depends on more than its input.
TEST_CASE("assemble: a module of the catalogue becomes machine code with all its kernels") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP("no NVRTC on this machine");
  const NothingLeft check;
  const std::string module(mgemm::catalogue().front().module.view());
  std::string codes[2];
  for (const char* target : {"compute_90a", "compute_80"}) {
    const auto start = std::chrono::steady_clock::now();
    const AssembledModule made = mgemm::assemble(
        MGEMM_HELPER_PATH,
        mgemm::assemble_request({module, mgemm::module_text(module), mgemm::embedded_files(), target}, *nvrtc));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%s for %s: %zu bytes in %.2f s\n", module.c_str(), target, made.code.size(), seconds.count());
    CHECK(made.code.starts_with("\177ELF"));
    CHECK(made.sha256 == mgemm::sha256(made.code));
    CHECK(made.version == nvrtc->version);
    for (const mgemm::KernelRow& row : mgemm::catalogue()) {
      if (row.module.view() == module) CHECK(contains(made.code, ".text." + std::string(row.symbol.view())));
    }
    codes[target == std::string("compute_80") ? 1 : 0] = made.code;
  }
  CHECK(codes[0] != codes[1]);
  const AssembledModule once = mgemm::assemble(MGEMM_HELPER_PATH, request_for(*nvrtc));
  CHECK(once.code == mgemm::assemble(MGEMM_HELPER_PATH, request_for(*nvrtc)).code);
}

// Catches: an assembler that takes the library's process with it, a crash without a name, a zombie or a descriptor left
// behind, and a library that does not work afterwards.
TEST_CASE("assemble: a source the assembler dies of is an error that names the signal") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP("no NVRTC on this machine");
  const NothingLeft check;
  // It asks for almost 2^64 bytes, where the address sanitizer in the helper ends it, by default with an exit.
  const mgemm::test::Variable sanitizer("ASAN_OPTIONS", longer("ASAN_OPTIONS", "abort_on_error=1"));
  const CompileRequest fatal{"test.cu", mgemm::test::crashing_text("wgmma_once", 128), mgemm::embedded_files(),
                             "compute_90a"};
  std::string ending;
  try {
    const AssembledModule made = mgemm::assemble(MGEMM_HELPER_PATH, mgemm::assemble_request(fatal, *nvrtc));
    CHECK(contains(made.code, "wgmma_once"));
  } catch (const Error& error) {
    ending = error.what();
    std::printf("%s\n", error.what());
    CHECK(error.status() == MGEMM_COMPILE);
    CHECK(dynamic_cast<const mgemm::AssemblerCrash*>(&error) != nullptr);
    CHECK(contains(ending, "was killed by SIG"));
    CHECK(contains(ending, "sm_90a"));
    CHECK(contains(ending, nvrtc->path));
  }
  CHECK(contains(mgemm::assemble(MGEMM_HELPER_PATH, request_for(*nvrtc)).code, "scale_by_width"));
  if (ending.empty()) MGEMM_SKIP("this machine's NVRTC assembles what NVRTC 13.0 dies of");
}

// Catches: compiler's messages and statuses lost on the way, options that are not those of the request.
TEST_CASE("assemble: the compiler's errors arrive with status and text") {
  const auto nvrtc = real_nvrtc();
  if (!nvrtc) MGEMM_SKIP("no NVRTC on this machine");
  const NothingLeft check;
  const Error wrong = error_of(
      [&] { mgemm::assemble(MGEMM_HELPER_PATH, request_for(*nvrtc, "#include \"shape.cuh\"\nint x = missing;\n")); });
  CHECK(wrong.status() == MGEMM_COMPILE);
  CHECK(contains(wrong.what(), "test.cu(2): error"));
  CHECK(contains(wrong.what(), "--gpu-architecture=sm_90a"));

  AssembleRequest unknown = request_for(*nvrtc);
  unknown.module.target = "sm_30";
  CHECK(error_of([&] { mgemm::assemble(MGEMM_HELPER_PATH, unknown); }).status() == MGEMM_UNSUPPORTED);

  AssembleRequest option = request_for(*nvrtc);
  option.options.insert(option.options.begin(), "--no-such-option");
  CHECK(contains(error_text(MGEMM_HELPER_PATH, option, {}), "does not know one of the options"));

  AssembleRequest other_version = request_for(*nvrtc);
  other_version.nvrtc.version = {12, 1};
  const Error version = error_of([&] { mgemm::assemble(MGEMM_HELPER_PATH, other_version); });
  CHECK(contains(version.what(), "its name says 12.1"));

  AssembleRequest relative = request_for(*nvrtc);
  relative.nvrtc.builtins = "libnvrtc-builtins.so.13.0";
  CHECK(contains(error_of([&] { mgemm::assemble(MGEMM_HELPER_PATH, relative); }).what(), "must be absolute"));
  CHECK(contains(error_of([&] { mgemm::assemble(MGEMM_HELPER_PATH, any_request()); }).what(), "could not be opened"));
}

// Catches: a helper that believes what it is sent.
TEST_CASE("assemble: the helper refuses what is no request") {
  const mgemm::test::TempFolder folder;
  const std::string good = mgemm::encode_request(any_request());
  std::string damaged = good;
  damaged[good.size() / 2] ^= 1;
  for (const std::string& bytes : {std::string(), std::string("hello"), good.substr(0, 100), damaged}) {
    write_bytes(folder.path() / "request", bytes);
    const std::string command = "'" + std::string(MGEMM_HELPER_PATH) + "' < " + (folder.path() / "request").string() +
                                " > " + (folder.path() / "response").string();
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream file(folder.path() / "response", std::ios::binary);
    const std::string response{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::string problem;
    const auto decoded = mgemm::decode_response(response, 1 << 20U, problem);
    REQUIRE(decoded);
    CHECK(decoded->status == MGEMM_COMPILE);
    CHECK(contains(decoded->log, "holds no request"));
  }
}

// Catches: a complete response that is not accepted because of anything around it.
TEST_CASE("assemble: a complete response counts, whatever else the program does") {
  const NothingLeft check;
  const Scripts scripts;
  std::string commands;
  SECTION("reads first") { commands = "cat >/dev/null; cat $R"; }
  SECTION("does not read") { commands = "cat $R"; }
  SECTION("fails afterwards") { commands = "cat $R; exit 3"; }
  SECTION("crashes afterwards") { commands = "cat $R; kill -SEGV $$"; }
  SECTION("hangs afterwards") { commands = "cat $R; exec sleep 50"; }
  SECTION("goes on writing") { commands = "cat $R; exec yes"; }
  SECTION("floods stderr") { commands = "head -c 5000000 /dev/zero >&2; cat $R"; }
  SECTION("is slow") { commands = "head -c 30 $R; sleep 0.3; tail -c +31 $R"; }
  AssembleRequest request = any_request();
  request.module.text.append(4'000'000, ' ');  // more than a socket takes
  const AssembledModule made = mgemm::assemble(scripts.script(commands), request, patient);
  CHECK(made.code == machine_code);
  CHECK(made.log == "a warning");
  CHECK(made.version == mgemm::NvrtcVersion{13, 0});
  CHECK(made.sha256 == mgemm::sha256(machine_code));
}

// Catches: anything but a complete response taken for one, a program's end waited for in vain, SIGPIPE in the host.
TEST_CASE("assemble: anything else is an error that says what happened") {
  const NothingLeft check;
  const Scripts scripts;
  std::string commands;
  std::string expected;
  std::string response = good_response();
  SECTION("nothing") {
    commands = "exit 0";
    expected = "exited with status 0 without a response";
  }
  SECTION("a failure with a message") {
    commands = "echo 'libfoo.so: not found' >&2; exit 127";
    expected = "exited with status 127 without a response; it wrote: libfoo.so: not found";
  }
  SECTION("a crash") {
    commands = "kill -SEGV $$";
    expected = "was killed by SIGSEGV";
  }
  SECTION("killed") {
    commands = "kill -KILL $$";
    expected = "was killed by SIGKILL";
  }
  SECTION("a crash half way") {
    commands = "head -c 30 $R; kill -ABRT $$";
    expected = "was killed by SIGABRT; its response ends after 30 of";
  }
  SECTION("garbage") {
    commands = "echo hello";
    expected = "does not begin as it should";
  }
  SECTION("garbage without end") {
    commands = "exec yes";
    expected = "does not begin as it should";
  }
  SECTION("a truncated response") {
    commands = "head -c 50 $R";
    expected = "exited with status 0; its response ends after 50 of";
  }
  SECTION("a truncated header") {
    commands = "head -c 9 $R";
    expected = "exited with status 0; its response ends after 9 bytes";
  }
  SECTION("a wrong byte") {
    response[response.size() - 40] ^= 1;
    commands = "cat $R";
    expected = "does not have the SHA-256 it announces";
  }
  SECTION("another version") {
    response[8] = 2;
    commands = "cat $R";
    expected = "has version 2, not 1";
  }
  SECTION("a huge length") {
    response[19] = 0x10;
    commands = "cat $R; exec sleep 50";
    expected = "more than the limit";
  }
  SECTION("an empty image") {
    response = mgemm::encode_response({MGEMM_OK, {13, 0}, "", ""});
    commands = "cat $R";
    expected = "empty image";
  }
  SECTION("an image that is none") {
    response = mgemm::encode_response({MGEMM_OK, {13, 0}, "", "// PTX"});
    commands = "cat $R";
    expected = "does not begin like an ELF image";
  }
  SECTION("half a magic") {
    response = mgemm::encode_response({MGEMM_OK, {13, 0}, "", "\177EL"});
    commands = "cat $R";
    expected = "does not begin like an ELF image";
  }
  SECTION("the work of another NVRTC") {
    response = mgemm::encode_response({MGEMM_OK, {13, 1}, "", machine_code});
    commands = "cat $R";
    expected = "is from NVRTC 13.1, not 13.0";
  }
  SECTION("an error without a word") {
    response = mgemm::encode_response({MGEMM_COMPILE, {}, "", ""});
    commands = "cat $R";
    expected = "failed without saying why";
  }
  SECTION("stdin closed early") {
    commands = "exec 0<&-; sleep 0.2; exit 4";
    expected = "exited with status 4";
  }
  SECTION("stdout closed, and goes on") {
    commands = "exec 1>&-; exec sleep 50";
    expected = "went on without an answer and was stopped";
  }
  SECTION("gone, with its channels in other hands") {
    commands = "sleep 50 & echo $! > $R.pid; exit 5";
    expected = "exited with status 5";
  }
  const std::string helper = scripts.script(commands, response);
  AssembleRequest request = any_request();
  request.module.text.append(4'000'000, ' ');
  const auto start = std::chrono::steady_clock::now();
  const std::string text = error_text(helper, request, patient);
  INFO(text);
  CHECK(contains(text, expected));
  CHECK(text.size() < 2047);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  if (std::ifstream pid_file(scripts.folder.path() / "response.pid"); pid_file) {
    pid_t pid = 0;
    pid_file >> pid;
    if (pid > 1) ::kill(pid, SIGKILL);
  }
}

// Catches: a time limit that does not bite while the program is busy or talking.
TEST_CASE("assemble: the time limit ends whatever goes on") {
  const NothingLeft check;
  const Scripts scripts;
  const std::string commands = GENERATE(as<std::string>(), "exec sleep 50", "cat >/dev/null; exec sleep 50",
                                        "head -c 30 $R; exec sleep 50", "yes >&2", "while :; do :; done");
  const auto start = std::chrono::steady_clock::now();
  const std::string text = error_text(scripts.script(commands), any_request(), {milliseconds(300)});
  CHECK(contains(text, "did not answer within 300ms and was stopped"));
  const auto time = std::chrono::steady_clock::now() - start;
  CHECK(time >= milliseconds(300));
  CHECK(time < std::chrono::seconds(20));
}

// Catches: a response bigger than was allowed kept in memory.
TEST_CASE("assemble: the size limit holds for the whole response") {
  const NothingLeft check;
  const Scripts scripts;
  const std::string response = mgemm::encode_response({MGEMM_OK, {13, 0}, "", machine_code + std::string(1000, 'x')});
  const std::string helper = scripts.script("cat $R", response);
  CHECK(mgemm::assemble(helper, any_request(), {patient.time, response.size()}).code.size() ==
        machine_code.size() + 1000);
  CHECK(contains(error_text(helper, any_request(), {patient.time, response.size() - 1}), "more than the limit"));
}

// Catches: the host's signal handling deciding the outcome, or children waited for that are not ours.
TEST_CASE("assemble: whatever the host does about SIGCHLD") {
  const Scripts scripts;
  const std::string good = scripts.script("sleep 0.2; cat $R");
  const std::string bad = write_script(scripts.folder.path() / "bad", "sleep 0.2; kill -SEGV $$");
  const std::string slow = write_script(scripts.folder.path() / "slow", "exec sleep 50");
  const NothingLeft check;
  SECTION("ignored") {
    const SignalAction ignore(SIGCHLD, SIG_IGN);
    CHECK(mgemm::assemble(good, any_request(), patient).code == machine_code);
    CHECK(contains(error_text(bad, any_request(), patient), "ended; how is not known"));
    CHECK(contains(error_text(slow, any_request(), {milliseconds(200)}), "did not answer within"));
  }
  SECTION("handled, which interrupts calls") {
    const SignalAction handler(SIGCHLD, [](int) {});
    CHECK(mgemm::assemble(good, any_request(), patient).code == machine_code);
    CHECK(contains(error_text(bad, any_request(), patient), "SIGSEGV"));
  }
  SECTION("a child of the host's own is left alone") {
    const pid_t own = ::fork();
    if (own == 0) ::_exit(7);
    CHECK(mgemm::assemble(good, any_request(), patient).code == machine_code);
    int status = 0;
    CHECK(::waitpid(own, &status, 0) == own);
    CHECK(WEXITSTATUS(status) == 7);
  }
}

// Catches: a host's descriptors, blocked signals, preloaded code or language in the helper.
TEST_CASE("assemble: the helper inherits nothing it should not") {
  const NothingLeft check;
  const Scripts scripts;
  constexpr int leaked = 57;
  REQUIRE(::dup2(STDERR_FILENO, leaked) == leaked);  // without O_CLOEXEC
  ::setenv("LD_PRELOAD", "", 1);
  ::setenv("LC_MESSAGES", "de_DE.UTF-8", 1);
  ::setenv("MGEMM_TEST_KEPT", "kept", 1);
  sigset_t blocked{};
  sigset_t before{};
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const SignalAction ignore(SIGUSR1, SIG_IGN);
  const std::string helper = scripts.script(
      "[ -e /proc/self/fd/57 ] && echo descriptor >&2\n"
      "echo \"preload ${LD_PRELOAD-none}, messages ${LC_MESSAGES-none}, all $LC_ALL, $MGEMM_TEST_KEPT\" >&2\n"
      "grep -E '^Sig(Blk|Ign)' /proc/self/status >&2; exit 1");
  const std::string text = error_text(helper, any_request(), patient);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(leaked);
  for (const char* name : {"LD_PRELOAD", "LC_MESSAGES", "MGEMM_TEST_KEPT"}) ::unsetenv(name);
  INFO(text);
  CHECK(!contains(text, "descriptor"));
  CHECK(contains(text, "preload none, messages none, all C, kept"));
  CHECK(signals_in(text, "SigBlk:") == 0);
  CHECK(signals_in(text, "SigIgn:") == 0);
}

// Catches: channels that land on each other where the host has closed its own standard descriptors.
TEST_CASE("assemble: a host without stdin and stdout") {
  const Scripts scripts;
  const std::string helper = scripts.script("cat >/dev/null; cat $R");
  const NothingLeft check;
  std::array<int, 2> saved{};
  for (int number : {0, 1}) saved[static_cast<std::size_t>(number)] = ::fcntl(number, F_DUPFD_CLOEXEC, 10);
  ::close(0);
  ::close(1);
  std::string code;
  try {
    code = mgemm::assemble(helper, any_request(), patient).code;
  } catch (const Error& error) {
    code = error.what();
  }
  for (int number : {0, 1}) {
    ::dup2(saved[static_cast<std::size_t>(number)], number);
    ::close(saved[static_cast<std::size_t>(number)]);
  }
  CHECK(code == machine_code);
}

// Catches: state shared between calls, a channel that another thread's child keeps open; run under the thread sanitizer
// too.
TEST_CASE("assemble: eight threads at once, the host forking meanwhile") {
  const Scripts scripts;
  const std::string helper = scripts.script("cat >/dev/null; cat $R");
  const std::string crashing = write_script(scripts.folder.path() / "crashing", "kill -SEGV $$");
  const auto nvrtc = real_nvrtc();
  const NothingLeft check;
  std::array<std::string, 8> results;
  {
    std::vector<std::jthread> threads;
    threads.reserve(results.size());
    for (std::string& result : results) {
      threads.emplace_back([&] {
        try {
          for (int round = 0; round < 5; ++round) result = mgemm::assemble(helper, any_request(), patient).code;
          if (nvrtc) result += mgemm::assemble(MGEMM_HELPER_PATH, request_for(*nvrtc)).code.substr(1, 3);
          mgemm::assemble(crashing, any_request(), patient);
        } catch (const Error& error) {
          result += contains(error.what(), "SIGSEGV") ? ", crash" : error.what();
        }
      });
    }
    for (int round = 0; round < 20; ++round) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::usleep(20'000);
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
    }
  }
  for (const std::string& result : results) CHECK(result == machine_code + (nvrtc ? "ELF" : "") + ", crash");
}

// Catches: a helper that cannot be started reported as something else, or left half started.
TEST_CASE("assemble: a program that cannot be started") {
  const NothingLeft check;
  const Scripts scripts;
  const auto text_for = [](const std::string& helper) {
    return std::string(error_of([&] { mgemm::assemble(helper, any_request()); }).what());
  };
  CHECK(contains(text_for("/nowhere/helper"), "could not be started: posix_spawn: No such file"));
  const std::string helper = scripts.script("cat $R");
  fs::permissions(helper, fs::perms(0600));
  CHECK(contains(text_for(helper), "could not be started"));
}
