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

class Program {
 public:
  Program(const NvrtcTable& nvrtc, nvrtc_abi::Program handle) : nvrtc_(nvrtc), handle_(handle) {}
  ~Program() { nvrtc_.nvrtcDestroyProgram(&handle_); }
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

[[noreturn]] void fail_compile(const NvrtcTable& nvrtc, const CompileRequest& request, const char* call, Result result,
                               const std::string& log_text) {
  if (!log_text.empty()) log(MGEMM_LOG_INFO, "compiler's log of module {}:\n{}", request.name, log_text);
  throw Error(
      result == Result::OutOfMemory ? MGEMM_OUT_OF_MEMORY : MGEMM_COMPILE,
      fmt::format("module {}: {} failed: {}{}. NVRTC {} ({}), options {}{}{}", request.name, call,
                  nvrtc.nvrtcGetErrorString(result), hint(result), to_string(nvrtc.version), nvrtc.path,
                  fmt::join(compile_options(request.target), " "), log_text.empty() ? "" : "\n", first_lines(log_text)),
      static_cast<int>(result));
}

void check(const NvrtcTable& nvrtc, const CompileRequest& request, const char* call, Result result) {
  if (result != Result::Success) fail_compile(nvrtc, request, call, result, {});
}

/// The number in "compute_90a"; 0 for other text.
int arch_of(std::string_view target) {
  constexpr std::string_view prefix = "compute_";
  int number = 0;
  if (target.starts_with(prefix)) std::from_chars(target.data() + prefix.size(), target.data() + target.size(), number);
  return number;
}

void require_target(const NvrtcTable& nvrtc, const CompileRequest& request) {
  int count = 0;
  check(nvrtc, request, "nvrtcGetNumSupportedArchs", nvrtc.nvrtcGetNumSupportedArchs(&count));
  std::vector<int> archs(static_cast<std::size_t>(std::max(count, 0)));
  check(nvrtc, request, "nvrtcGetSupportedArchs", nvrtc.nvrtcGetSupportedArchs(archs.data()));
  if (std::ranges::find(archs, arch_of(request.target)) != archs.end()) return;
  fail(MGEMM_UNSUPPORTED,
       "NVRTC {} ({}) cannot compile for {}, only for {}; install a newer NVRTC (not newer than the driver), or name "
       "one with MAMBA_GEMM_NVRTC",
       to_string(nvrtc.version), nvrtc.path, request.target, fmt::join(archs, ", "));
}

nvrtc_abi::Program create(const NvrtcTable& nvrtc, const CompileRequest& request) {
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
  check(nvrtc, request, "nvrtcCreateProgram",
        nvrtc.nvrtcCreateProgram(&program, request.text.c_str(), request.name.c_str(), static_cast<int>(texts.size()),
                                 texts.data(), names.data()));
  return program;
}

/// NVRTC's size-then-text pairs, without the NUL that it counts.
std::string text_of(const NvrtcTable& nvrtc, const CompileRequest& request, const Program& program, const char* call,
                    nvrtc_abi::fn::GetPTXSize* get_size, nvrtc_abi::fn::GetPTX* get_text) {
  std::size_t size = 0;
  check(nvrtc, request, call, get_size(program.handle(), &size));
  if (size <= 1) return {};
  std::string text(size, '\0');
  check(nvrtc, request, call, get_text(program.handle(), text.data()));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

/// A function that is declared and nowhere defined compiles, and fails only when the module is loaded, without a name.
void require_complete(const NvrtcTable& nvrtc, const CompileRequest& request, const Compiled& compiled) {
  const std::size_t at = compiled.ptx.find("\n.extern .func");
  if (at == std::string::npos) return;
  const std::string declaration = compiled.ptx.substr(at + 1, compiled.ptx.find('\n', at + 1) - at - 1);
  fail(MGEMM_COMPILE, "module {}: a function is declared and not defined: {}. NVRTC {} ({})", request.name, declaration,
       to_string(nvrtc.version), nvrtc.path);
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

std::vector<std::string> compile_options(const std::string& target) {
  return {"--fmad=false",     "--ftz=false", "--prec-div=true",
          "--prec-sqrt=true", "--std=c++20", "--gpu-architecture=" + target};
}

Compiled compile(const NvrtcTable& nvrtc, const CompileRequest& request) {
  require_target(nvrtc, request);
  const Program program(nvrtc, create(nvrtc, request));

  const std::vector<std::string> options = compile_options(request.target);
  std::vector<const char*> pointers;
  pointers.reserve(options.size());
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const Result result = nvrtc.nvrtcCompileProgram(program.handle(), static_cast<int>(pointers.size()), pointers.data());

  Compiled compiled;
  compiled.log =
      text_of(nvrtc, request, program, "nvrtcGetProgramLog", nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog);
  if (result != Result::Success) fail_compile(nvrtc, request, "nvrtcCompileProgram", result, compiled.log);
  compiled.ptx = text_of(nvrtc, request, program, "nvrtcGetPTX", nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX);
  if (compiled.ptx.empty())
    fail(MGEMM_COMPILE, "module {}: NVRTC {} gave no PTX", request.name, to_string(nvrtc.version));
  require_complete(nvrtc, request, compiled);
  return compiled;
}

}  // namespace mgemm
