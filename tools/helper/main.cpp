// mamba-gemm-assemble: reads a request from stdin, has NVRTC compile it to machine code and writes the response to
// stdout (compile/assemble_protocol.hpp). The library runs it, because NVRTC's assembler may end its process.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string>
#include <string_view>

#include "compile/assemble_protocol.hpp"
#include "compile/nvrtc_load.hpp"

namespace mgemm {
namespace {

/// What of stdin makes a request; less if it ends before, which is then no request.
std::string read_request() {
  std::string bytes;
  std::array<char, 65536> buffer{};
  for (;;) {
    const std::size_t wanted = frame_bytes_wanted(request_kind, bytes, most_request_bytes);
    if (bytes.size() >= wanted) return bytes;
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), std::min(buffer.size(), wanted - bytes.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(to, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

AssembleResponse answer(std::string_view bytes) {
  const std::optional<DecodedRequest> decoded = decode_request(bytes);
  if (!decoded) fail(MGEMM_COMPILE, "mamba-gemm-assemble: stdin holds no request of this version");
  const AssembleRequest& request = decoded->request;
  const bool absolute = request.nvrtc.path.starts_with('/') && request.nvrtc.builtins.starts_with('/');
  if (!absolute) fail(MGEMM_COMPILE, "mamba-gemm-assemble: the paths of NVRTC and its builtins must be absolute");
  NvrtcTable nvrtc;
  const std::string wrong = load_nvrtc(request.nvrtc, nvrtc);
  if (!wrong.empty()) fail(MGEMM_COMPILE, "mamba-gemm-assemble: {}: {}", request.nvrtc.path, wrong);
  MachineCode made = compile_to_machine_code(nvrtc, request.module, request.options);
  return {MGEMM_OK, nvrtc.version, std::move(made.log), std::move(made.code)};
}

AssembleResponse answer_or_error(std::string_view bytes) {
  try {
    return answer(bytes);
  } catch (const Error& error) {
    return {error.status(), {}, error.what(), {}};
  } catch (const std::bad_alloc&) {
    return {MGEMM_OUT_OF_MEMORY, {}, "mamba-gemm-assemble: out of memory", {}};
  } catch (const std::exception& error) {
    return {MGEMM_COMPILE, {}, error.what(), {}};
  }
}

int run() {
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  // A crash ends this process by its signal, whatever handler was linked in (a sanitizer's would exit instead).
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) static_cast<void>(::signal(crash, SIG_DFL));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would want the answer
  ::prctl(PR_SET_DUMPABLE, 0);         // a crash is foreseen: no core file, no crash report
  // The response alone goes to stdout, whatever the compiler may print.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  return write_all(out, encode_response(answer_or_error(read_request()))) ? 0 : 1;
}

}  // namespace
}  // namespace mgemm

int main() {
  int status = 1;
  try {
    status = mgemm::run();
  } catch (...) {
    status = 1;
  }
  ::_exit(status);  // the compiler's own exit handlers could still crash or hang
}
