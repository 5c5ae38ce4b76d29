#include "compile/assemble.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "compile/child_process.hpp"

namespace mgemm {
namespace {

/// What went wrong with a conversation that gave no response.
std::string account_of(const Conversation& talk, const std::string& problem) {
  std::string text = talk.ending;
  if (text.empty()) {
    text = fmt::format("gave a response that {}", problem);
  } else if (!talk.output.empty()) {
    text += fmt::format("; its response {}", problem);
  } else {
    text += " without a response";
  }
  if (!talk.errors.empty()) text += fmt::format("; it wrote: {}", talk.errors);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What is wrong with a response of success; "" if nothing.
std::string objection_to(const AssembleResponse& response, const NvrtcVersion& wanted) {
  if (response.version != wanted) {
    return fmt::format("is from NVRTC {}, not {}", to_string(response.version), to_string(wanted));
  }
  if (response.code.empty()) return "is an empty image";
  if (!is_elf_image(response.code)) return "does not begin like an ELF image";
  return {};
}

/// What came of asking the program once; without a response, `problem` says what is wrong with its output.
struct Answer {
  Conversation talk;
  std::optional<AssembleResponse> response;
  std::string problem;
};

Answer ask(const std::string& helper, const AssembleRequest& request, const AssembleLimits& limits) {
  const std::size_t limit = limits.response_bytes;
  const auto wanted = [&](std::string_view output) { return frame_bytes_wanted(response_kind, output, limit); };
  Answer answer;
  answer.talk = converse(helper, encode_request(request), wanted, limits.time);
  answer.response = decode_response(answer.talk.output, limit, answer.problem);
  return answer;
}

/// Whether a program that has crashed assembles a kernel that does nothing.
bool survives_nothing(const std::string& helper, AssembleRequest request, const AssembleLimits& limits) {
  request.module.name = "nothing";
  request.module.text = "extern \"C\" __global__ void nothing() {}\n";
  const auto response = ask(helper, request, limits).response;
  return response && response->status == MGEMM_OK;
}

}  // namespace

AssembleRequest assemble_request(CompileRequest module, const NvrtcCandidate& nvrtc) {
  module.target = machine_target(module.target);
  std::vector<std::string> options = compile_options(module.target, nvrtc.version);
  return {std::move(module), std::move(options), nvrtc};
}

AssembledModule assemble(const std::string& helper, const AssembleRequest& request, const AssembleLimits& limits) {
  auto [talk, response, problem] = ask(helper, request, limits);
  const CompileRequest& module = request.module;
  if (!response) {
    const std::string text =
        fmt::format("module {}: no machine code for {} from NVRTC {} ({}): {} {}", module.name, module.target,
                    to_string(request.nvrtc.version), request.nvrtc.path, helper, account_of(talk, problem));
    if (talk.crashed && survives_nothing(helper, request, limits)) throw AssemblerCrash(MGEMM_COMPILE, text);
    throw Error(MGEMM_COMPILE, text);
  }
  if (response->status != MGEMM_OK) {
    if (!response->log.empty()) throw Error(response->status, response->log);
    fail(response->status, "module {}: no machine code for {} from NVRTC {} ({}): {} failed without saying why",
         module.name, module.target, to_string(request.nvrtc.version), request.nvrtc.path, helper);
  }
  // The helper is another program than the one this library was built with, if somebody has mixed two installations.
  if (const std::string wrong = objection_to(*response, request.nvrtc.version); !wrong.empty()) {
    fail(MGEMM_COMPILE, "module {}: the machine code that {} gave {}", module.name, helper, wrong);
  }
  AssembledModule result;
  result.sha256 = sha256(response->code);
  result.code = std::move(response->code);
  result.version = response->version;
  result.log = std::move(response->log);
  return result;
}

}  // namespace mgemm
