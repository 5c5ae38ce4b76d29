#include "fake_cuda/ptx_text.hpp"

#include <fmt/format.h>

#include <regex>

namespace mgemm::fake {
namespace {

/// ".param .u64 x" or ".param .align 8 .b8 x[96]"
Parameter parameter_of(const std::smatch& match) {
  const std::size_t element = std::stoul(match[2]) / 8;
  Parameter parameter{element, element};
  if (match[1].matched) parameter.alignment = std::stoul(match[1]);
  if (match[3].matched) parameter.bytes = element * std::stoul(match[3]);
  return parameter;
}

}  // namespace

std::vector<Entry> entries_in(std::string_view ptx) {
  static const std::regex entry_pattern(R"(\.entry\s+([A-Za-z_$][\w$]*)\s*(\(([^)]*)\))?)");
  static const std::regex parameter_pattern(
      R"(\.param\s+(?:\.align\s+(\d+)\s+)?(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)\s+(?:\.ptr[^,\[]*?\s)?[\w$]+(?:\[(\d+)\])?)");
  const std::string text(ptx);
  std::vector<Entry> entries;
  for (std::sregex_iterator match(text.begin(), text.end(), entry_pattern); match != std::sregex_iterator(); ++match) {
    Entry entry{(*match)[1], {}};
    const std::string list = (*match)[3];
    for (std::sregex_iterator item(list.begin(), list.end(), parameter_pattern); item != std::sregex_iterator();
         ++item) {
      entry.parameters.push_back(parameter_of(*item));
    }
    entries.push_back(entry);
  }
  return entries;
}

std::string entry_text(const Entry& entry) {
  std::string parameters;
  for (std::size_t index = 0; index < entry.parameters.size(); ++index) {
    const Parameter& parameter = entry.parameters[index];
    parameters += fmt::format("{}\n  .param .align {} .b8 {}_param_{}[{}]", index == 0 ? "" : ",", parameter.alignment,
                              entry.name, index, parameter.bytes);
  }
  return fmt::format(".visible .entry {}({}\n)\n{{\n  ret;\n}}\n", entry.name, parameters);
}

}  // namespace mgemm::fake
