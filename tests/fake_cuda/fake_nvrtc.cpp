#include "fake_cuda/fake_nvrtc.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

struct mgemm::nvrtc_abi::ProgramTag {
  mgemm::fake::CompileCall call;
  std::string ptx;
  std::string code;
  std::string log;
};

namespace mgemm::fake {
namespace {

using nvrtc_abi::Program;
using nvrtc_abi::ProgramTag;
using nvrtc_abi::Result;

struct State {
  Result outcome = Result::Success;
  std::string log;
  std::multimap<std::string, std::pair<int, Result>> injections;
  std::pair<int, Result> injection{0, Result::Success};  // of all calls; 0 left: nothing fails
  std::string failed_call;
  std::vector<int> archs{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
  std::map<std::string, std::vector<Parameter>> parameters;
  std::string prologue;
  std::map<Program, std::unique_ptr<ProgramTag>> programs;
  std::vector<CompileCall> compiles;
  NvrtcLibrary library;
};

std::mutex mutex;  // guards *state
std::unique_ptr<State> state;

template <typename Body>
Result call(const char* name, Body body) {
  const std::lock_guard lock(mutex);
  if (!state) return Result::InternalError;
  if (state->injection.first > 0 && --state->injection.first == 0) {
    state->failed_call = name;
    return state->injection.second;
  }
  const auto [first, last] = state->injections.equal_range(name);
  for (auto entry = first; entry != last; ++entry) {
    if (--entry->second.first > 0) continue;
    const Result result = entry->second.second;
    state->injections.erase(entry);
    return result;
  }
  return body();
}

template <typename Body>
Result program_call(const char* name, Program program, Body body) {
  return call(name, [&] {
    if (!state->programs.contains(program)) return Result::InvalidProgram;
    body(*program);
    return Result::Success;
  });
}

Result version(int* major, int* minor) {
  return call("nvrtcVersion", [&] {
    *major = 13;
    *minor = 0;
    return Result::Success;
  });
}

const char* error_string(Result result) {
  switch (result) {
    case Result::Success:
      return "NVRTC_SUCCESS";
    case Result::OutOfMemory:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case Result::InvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case Result::Compilation:
      return "NVRTC_ERROR_COMPILATION";
    case Result::BuiltinOperationFailure:
      return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    default:
      return "NVRTC_ERROR unknown";
  }
}

Result create_program(Program* program, const char* source, const char* name, int header_count,
                      const char* const* headers, const char* const* include_names) {
  return call("nvrtcCreateProgram", [&] {
    auto made = std::make_unique<ProgramTag>();
    made->call.name = name;
    made->call.source = source;
    for (int index = 0; index < header_count; ++index) made->call.headers[include_names[index]] = headers[index];
    *program = made.get();
    state->programs.emplace(made.get(), std::move(made));
    return Result::Success;
  });
}

Result destroy_program(Program* program) {
  return call("nvrtcDestroyProgram", [&] {
    if (state->programs.erase(*program) != 1) return Result::InvalidProgram;
    *program = nullptr;
    return Result::Success;
  });
}

/// The name of the kernel that is declared behind `extern "C"`, if a kernel is.
std::string kernel_name(std::string_view text) {
  bool kernel = false;
  for (std::string word = take_word(text); !word.empty(); word = take_word(text)) {
    if (word == "__launch_bounds__") {
      take_parentheses(text);
    } else if (word == "__global__") {
      kernel = true;
    } else if (text.starts_with('(')) {
      return kernel ? word : std::string();
    }
  }
  return {};
}

std::string ptx_of(std::string_view source) {
  constexpr std::string_view keyword = "extern \"C\"";
  std::string ptx = "// fake\n.version 9.0\n.target sm_90a\n.address_size 64\n" + state->prologue;
  for (std::size_t at = source.find(keyword); at != std::string_view::npos; at = source.find(keyword)) {
    source.remove_prefix(at + keyword.size());
    const std::string name = kernel_name(source);
    if (!name.empty()) ptx += entry_text({name, state->parameters[name]});
  }
  return ptx;
}

Result compile_program(Program program, int option_count, const char* const* options) {
  return call("nvrtcCompileProgram", [&] {
    if (!state->programs.contains(program)) return Result::InvalidProgram;
    program->call.options.assign(options, options + option_count);
    state->compiles.push_back(program->call);
    program->log = state->log;
    if (state->outcome != Result::Success) return state->outcome;
    program->ptx = ptx_of(program->call.source);
    // As the real one: machine code only for a real architecture. Its last byte is a NUL, which belongs to it.
    const bool real = std::ranges::any_of(
        program->call.options, [](const std::string& option) { return option.starts_with("--gpu-architecture=sm_"); });
    if (real) program->code = "\177ELF" + program->ptx + '\0';
    return Result::Success;
  });
}

// As the real one, sizes count the terminating NUL.
Result get_ptx_size(Program program, std::size_t* size) {
  return program_call("nvrtcGetPTXSize", program, [&](ProgramTag& tag) { *size = tag.ptx.size() + 1; });
}
Result get_ptx(Program program, char* text) {
  return program_call("nvrtcGetPTX", program,
                      [&](ProgramTag& tag) { std::memcpy(text, tag.ptx.c_str(), tag.ptx.size() + 1); });
}
Result get_code_size(Program program, std::size_t* size) {
  return program_call("nvrtcGetCUBINSize", program, [&](ProgramTag& tag) { *size = tag.code.size(); });
}
Result get_code(Program program, char* code) {
  return program_call("nvrtcGetCUBIN", program,
                      [&](ProgramTag& tag) { std::memcpy(code, tag.code.data(), tag.code.size()); });
}
Result get_log_size(Program program, std::size_t* size) {
  return program_call("nvrtcGetProgramLogSize", program, [&](ProgramTag& tag) { *size = tag.log.size() + 1; });
}
Result get_log(Program program, char* text) {
  return program_call("nvrtcGetProgramLog", program,
                      [&](ProgramTag& tag) { std::memcpy(text, tag.log.c_str(), tag.log.size() + 1); });
}

Result arch_count(int* count) {
  return call("nvrtcGetNumSupportedArchs", [&] {
    *count = static_cast<int>(state->archs.size());
    return Result::Success;
  });
}

Result archs(int* out) {
  return call("nvrtcGetSupportedArchs", [&] {
    std::ranges::copy(state->archs, out);
    return Result::Success;
  });
}

/// The library that the functions above are in is the test program.
NvrtcFiles own_files() {
  return nvrtc_files(std::filesystem::canonical("/proc/self/exe").string(), MGEMM_FAKE_LIBRARIES "/nvrtc_13_0.so");
}

}  // namespace

Nvrtc::Nvrtc() {
  const std::lock_guard lock(mutex);
  if (state) throw std::logic_error("only one fake NVRTC at a time");
  state = std::make_unique<State>();
  NvrtcLibrary& library = state->library;
  library.table = table();
  library.report.available = true;
  library.report.path = library.table.files.library;
  library.report.version = library.table.version;
  library.report.candidates = {{library.table.files.library, "fake", library.table.version, {}, "serves"}};
  substitute_nvrtc(&library);
}

Nvrtc::~Nvrtc() {
  const std::lock_guard lock(mutex);
  substitute_nvrtc(nullptr);
  state.reset();
}

const NvrtcTable& Nvrtc::table() {
  static const NvrtcTable fake_table{.nvrtcVersion = version,
                                     .nvrtcGetErrorString = error_string,
                                     .nvrtcCreateProgram = create_program,
                                     .nvrtcDestroyProgram = destroy_program,
                                     .nvrtcCompileProgram = compile_program,
                                     .nvrtcGetPTXSize = get_ptx_size,
                                     .nvrtcGetPTX = get_ptx,
                                     .nvrtcGetCUBINSize = get_code_size,
                                     .nvrtcGetCUBIN = get_code,
                                     .nvrtcGetProgramLogSize = get_log_size,
                                     .nvrtcGetProgramLog = get_log,
                                     .nvrtcGetNumSupportedArchs = arch_count,
                                     .nvrtcGetSupportedArchs = archs,
                                     .files = own_files(),
                                     .version = {13, 0}};
  return fake_table;
}

void Nvrtc::set_files(NvrtcFiles files) {
  const std::lock_guard lock(mutex);
  state->library.table.files = std::move(files);
}

void Nvrtc::set_outcome(Result result, std::string log) {
  const std::lock_guard lock(mutex);
  state->outcome = result;
  state->log = std::move(log);
}

void Nvrtc::fail_nth(const std::string& name, int n, Result result) {
  const std::lock_guard lock(mutex);
  state->injections.insert({name, {n, result}});
}

void Nvrtc::fail_nth_of_all(int n, Result result) {
  const std::lock_guard lock(mutex);
  state->injection = {n, result};
  state->failed_call.clear();
}

std::string Nvrtc::failed_call() const {
  const std::lock_guard lock(mutex);
  return state->failed_call;
}

void Nvrtc::set_supported_archs(std::vector<int> supported) {
  const std::lock_guard lock(mutex);
  state->archs = std::move(supported);
}

void Nvrtc::set_parameters(const std::string& kernel, std::vector<Parameter> parameters) {
  const std::lock_guard lock(mutex);
  state->parameters[kernel] = std::move(parameters);
}

void Nvrtc::set_prologue(std::string text) {
  const std::lock_guard lock(mutex);
  state->prologue = std::move(text);
}

int Nvrtc::live_programs() const {
  const std::lock_guard lock(mutex);
  return static_cast<int>(state->programs.size());
}

std::vector<CompileCall> Nvrtc::compiles() const {
  const std::lock_guard lock(mutex);
  return state->compiles;
}

}  // namespace mgemm::fake
