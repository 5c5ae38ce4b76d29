// A helper program that answers with machine code of the fake compiler.
#pragma once
#include <string>
#include <string_view>

#include "compile/assemble_protocol.hpp"
#include "compile/compiler.hpp"
#include "compile/module_text.hpp"
#include "compile/tensor_probe_text.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "support/environment.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"

namespace mgemm::test {

/// Machine code of one module and the tensor probe, for whichever is asked for; as long as the object lives. Needs a
/// fake NVRTC.
class FakeHelper {
 public:
  explicit FakeHelper(std::string_view module)
      : script_(write_script(folder_.path() / "helper",
                             "cat >/dev/null; cat '" + (folder_.path() / "response").string() + "'")),
        variable_("MAMBA_GEMM_HELPER", script_) {
    answer(module);
  }

  /// `comment` makes it other code; `log` is the assembler's.
  void answer(std::string_view module, const std::string& comment = {}, const std::string& log = {}) const {
    const Compiled compiled = compile(
        fake::Nvrtc::table(), {std::string(module), module_text(module) + tensor_probe_text(), {}, "compute_90a"});
    write_bytes(folder_.path() / "response",
                encode_response({MGEMM_OK, {13, 0}, log, "\177ELF" + comment + compiled.ptx + '\0'}));
  }

 private:
  TempFolder folder_;
  std::string script_;
  Variable variable_;
};

}  // namespace mgemm::test
