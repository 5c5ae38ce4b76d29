#include "compile/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "catalogue/targets.hpp"

namespace mgemm {
namespace {

using nvrtc_abi::Result;

/// How much of a compiler's log goes into an error's text, which mgemm_last_error cuts at 2047 bytes.
constexpr std::size_t log_lines_in_error = 12;
constexpr std::size_t log_bytes_in_error = 1000;

constexpr std::string_view virtual_prefix = "compute_";
constexpr std::string_view machine_prefix = "sm_";

class Program {
 public:
  Program(const NvrtcTable& nvrtc, nvrtc_abi::Program handle) : nvrtc_(nvrtc), handle_(handle) {}
  ~Program() {
    const Result result = nvrtc_.nvrtcDestroyProgram(&handle_);
    if (result != Result::Success) {
      log(MGEMM_LOG_WARN, "nvrtcDestroyProgram failed: {}", nvrtc_.nvrtcGetErrorString(result));
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&&) = delete;
  Program& operator=(Program&&) = delete;

  nvrtc_abi::Program handle() const { return handle_; }

 private:
  const NvrtcTable& nvrtc_;
  nvrtc_abi::Program handle_;
};

std::string first_lines(std::string_view log) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < log_lines_in_error && end < log.size(); ++line) {
    const std::size_t newline = log.find('\n', end);
    end = newline == std::string_view::npos ? log.size() : newline + 1;
  }
  std::string text(log.substr(0, std::min(end, log_bytes_in_error)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() + 1 < log.size()) text += "\n(more in the log at level info)";
  return text;
}

/// What a result means for whoever reads the error.
std::string_view hint(Result result) {
  switch (result) {
    case Result::InvalidOption:
      return "; this NVRTC does not know one of the options, a newer one may";
    case Result::BuiltinOperationFailure:
      return "; its libnvrtc-builtins could not be used, reinstall NVRTC or set MAMBA_GEMM_NVRTC to a complete one";
    default:
      return "";
  }
}

/// One compile: what, by what and with which options.
struct Job {
  const NvrtcTable& nvrtc;
  const CompileRequest& request;
  const std::vector<std::string>& options;
};

[[noreturn]] void fail_compile(const Job& job, const char* call, Result result, const std::string& log_text) {
  if (!log_text.empty()) log(MGEMM_LOG_INFO, "compiler's log of module {}:\n{}", job.request.name, log_text);
  throw Error(result == Result::OutOfMemory ? MGEMM_OUT_OF_MEMORY : MGEMM_COMPILE,
              fmt::format("module {}: {} failed: {}{}. NVRTC {} ({}), options {}{}{}", job.request.name, call,
                          job.nvrtc.nvrtcGetErrorString(result), hint(result), to_string(job.nvrtc.version),
                          job.nvrtc.files.library, fmt::join(job.options, " "), log_text.empty() ? "" : "\n",
                          first_lines(log_text)),
              static_cast<int>(result));
}

void check(const Job& job, const char* call, Result result) {
  if (result != Result::Success) fail_compile(job, call, result, {});
}

/// The number in "compute_90a" or "sm_90a"; 0 for other text.
int arch_of(std::string_view target) {
  int number = 0;
  const std::string_view architecture = architecture_in(target);
  std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  return number;
}

void require_target(const Job& job) {
  const auto& [nvrtc, request, options] = job;
  int count = 0;
  check(job, "nvrtcGetNumSupportedArchs", nvrtc.nvrtcGetNumSupportedArchs(&count));
  std::vector<int> archs(static_cast<std::size_t>(std::max(count, 0)));
  check(job, "nvrtcGetSupportedArchs", nvrtc.nvrtcGetSupportedArchs(archs.data()));
  if (std::ranges::find(archs, arch_of(request.target)) != archs.end()) return;
  fail(MGEMM_UNSUPPORTED,
       "NVRTC {} ({}) cannot compile for {}, only for {}; install a newer NVRTC (not newer than the driver), or name "
       "one with MAMBA_GEMM_NVRTC",
       to_string(nvrtc.version), nvrtc.files.library, request.target, fmt::join(archs, ", "));
}

nvrtc_abi::Program create(const Job& job) {
  const auto& [nvrtc, request, options] = job;
  // NVRTC wants terminated strings, which a view does not promise.
  std::vector<std::string> strings;
  strings.reserve(2 * request.headers.size());
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const EmbeddedFile& header : request.headers) {
    texts.push_back(strings.emplace_back(header.text).c_str());
    names.push_back(strings.emplace_back(header.name).c_str());
  }
  nvrtc_abi::Program program = nullptr;
  check(job, "nvrtcCreateProgram",
        nvrtc.nvrtcCreateProgram(&program, request.text.c_str(), request.name.c_str(), static_cast<int>(texts.size()),
                                 texts.data(), names.data()));
  return program;
}

/// NVRTC's size-then-bytes pairs.
std::string bytes_of(const Job& job, const Program& program, const char* call, nvrtc_abi::fn::GetPTXSize* get_size,
                     nvrtc_abi::fn::GetPTX* get_bytes) {
  std::size_t size = 0;
  check(job, (std::string(call) + "Size").c_str(), get_size(program.handle(), &size));
  std::string bytes(size, '\0');
  if (size != 0) check(job, call, get_bytes(program.handle(), bytes.data()));
  return bytes;
}

/// Those of a text, without the NUL that NVRTC counts.
std::string text_of(const Job& job, const Program& program, const char* call, nvrtc_abi::fn::GetPTXSize* get_size,
                    nvrtc_abi::fn::GetPTX* get_text) {
  std::string text = bytes_of(job, program, call, get_size, get_text);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

/// A function that is declared and nowhere defined compiles, and fails only when the module is loaded, without a name.
void require_complete(const Job& job, const std::string& ptx) {
  const std::size_t at = ptx.find("\n.extern .func");
  if (at == std::string::npos) return;
  const std::string declaration = ptx.substr(at + 1, ptx.find('\n', at + 1) - at - 1);
  fail(MGEMM_COMPILE, "module {}: a function is declared and not defined: {}. NVRTC {} ({})", job.request.name,
       declaration, to_string(job.nvrtc.version), job.nvrtc.files.library);
}

/// Compiles and returns the log; the program then holds the output.
std::string run(const Job& job, const Program& program) {
  std::vector<const char*> pointers;
  for (const std::string& option : job.options) pointers.push_back(option.c_str());
  const Result result =
      job.nvrtc.nvrtcCompileProgram(program.handle(), static_cast<int>(pointers.size()), pointers.data());
  std::string log_text =
      text_of(job, program, "nvrtcGetProgramLog", job.nvrtc.nvrtcGetProgramLogSize, job.nvrtc.nvrtcGetProgramLog);
  if (result != Result::Success) fail_compile(job, "nvrtcCompileProgram", result, log_text);
  return log_text;
}

}  // namespace

std::string target_for(int major, int minor) {
  const std::string_view target = compile_target(major, minor);
  if (target.empty()) {
    const CompileTarget& last = compile_targets.back();
    fail(MGEMM_UNSUPPORTED,
         "compute capability {}.{} has no compile target; this library knows the major versions from {} to {}", major,
         minor, compile_targets.front().major, last.major);
  }
  return std::string(target);
}

std::string_view architecture_in(std::string_view target) {
  for (const std::string_view prefix : {virtual_prefix, machine_prefix}) {
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  }
  return {};
}

bool is_elf_image(std::string_view code) { return code.starts_with("\177ELF"); }

std::vector<std::string> compile_options(const std::string& target, const NvrtcVersion& version) {
  std::vector<std::string> options{"--fmad=false",     "--ftz=false", "--prec-div=true",
                                   "--prec-sqrt=true", "--std=c++20", "--gpu-architecture=" + target};
  constexpr NvrtcVersion first_with_cache{12, 9};
  if (version >= first_with_cache) options.emplace_back("--no-cache");
  // Its log then says what each kernel needs; the code is the same.
  if (target.starts_with(machine_prefix)) options.emplace_back("--ptxas-options=-v");
  return options;
}

std::string machine_target(std::string_view target) {
  if (!target.starts_with(virtual_prefix)) fail(MGEMM_INTERNAL, "'{}' is no compile target", target);
  return std::string(machine_prefix).append(target.substr(virtual_prefix.size()));
}

Compiled compile(const NvrtcTable& nvrtc, const CompileRequest& request) {
  const std::vector<std::string> options = compile_options(request.target, nvrtc.version);
  const Job job{nvrtc, request, options};
  require_target(job);
  const Program program(nvrtc, create(job));
  Compiled compiled;
  compiled.log = run(job, program);
  compiled.ptx = text_of(job, program, "nvrtcGetPTX", nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX);
  if (compiled.ptx.empty())
    fail(MGEMM_COMPILE, "module {}: NVRTC {} gave no PTX", request.name, to_string(nvrtc.version));
  require_complete(job, compiled.ptx);
  return compiled;
}

MachineCode compile_to_machine_code(const NvrtcTable& nvrtc, const CompileRequest& request,
                                    const std::vector<std::string>& options) {
  if (nvrtc.nvrtcGetCUBINSize == nullptr || nvrtc.nvrtcGetCUBIN == nullptr) {
    fail(MGEMM_UNSUPPORTED, "NVRTC {} ({}) lacks nvrtcGetCUBIN, it gives no machine code", to_string(nvrtc.version),
         nvrtc.files.library);
  }
  const Job job{nvrtc, request, options};
  require_target(job);
  const Program program(nvrtc, create(job));
  MachineCode result;
  result.log = run(job, program);
  result.code = bytes_of(job, program, "nvrtcGetCUBIN", nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN);
  if (!is_elf_image(result.code)) {
    fail(MGEMM_COMPILE, "module {}: NVRTC {} gave no machine code", request.name, to_string(nvrtc.version));
  }
  return result;
}

}  // namespace mgemm
