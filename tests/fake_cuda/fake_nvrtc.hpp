// An NVRTC for tests: its PTX has an entry for every `extern "C" __global__` function of the source and nothing else.
// Its machine code, for a target such as sm_90a, is that PTX behind ELF's magic and before a NUL.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compile/nvrtc_table.hpp"
#include "fake_cuda/ptx_text.hpp"

namespace mgemm::fake {

/// What one program was created and compiled with.
struct CompileCall {
  std::string name;
  std::string source;
  std::map<std::string, std::string> headers;
  std::vector<std::string> options;
};

/// Installs the fake NVRTC for its lifetime, in a fresh state. One at a time.
class Nvrtc {
 public:
  Nvrtc();
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;
  Nvrtc(Nvrtc&&) = delete;
  Nvrtc& operator=(Nvrtc&&) = delete;

  /// Version 13.0; its files are the test program and a library that does nothing.
  static const NvrtcTable& table();

  /// What it claims to have been loaded from.
  void set_files(NvrtcFiles files);
  /// Every compile ends with `result` and this log, until the next call; Success and a log are a warning.
  void set_outcome(nvrtc_abi::Result result, std::string log);
  /// The n-th call from now of a function other than the compile, for example "nvrtcGetPTX", returns `result`.
  void fail_nth(const std::string& name, int n, nvrtc_abi::Result result);
  /// The same for the n-th call of whatever function, the compile included.
  void fail_nth_of_all(int n, nvrtc_abi::Result result);
  /// The function that fail_nth_of_all() made fail, "" if it has not come to that call.
  std::string failed_call() const;
  void set_supported_archs(std::vector<int> archs);
  /// The parameters an entry is declared with; none otherwise.
  void set_parameters(const std::string& kernel, std::vector<Parameter> parameters);
  /// Put before the entries of the PTX.
  void set_prologue(std::string text);

  int live_programs() const;
  std::vector<CompileCall> compiles() const;
};

}  // namespace mgemm::fake
