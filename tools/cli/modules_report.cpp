#include "modules_report.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "doctor_checks.hpp"
#include "doctor_variables.hpp"

namespace mgemm::cli {
namespace {

constexpr std::string_view failed_state = "failed";

std::string_view state_text(std::int32_t state) {
  switch (state) {
    case MGEMM_KERNEL_LISTED:
      return "listed";
    case MGEMM_KERNEL_READY:
      return "ready";
    case MGEMM_KERNEL_EXCLUDED:
      return "excluded";
    default:
      return failed_state;
  }
}

/// "[1] why" of the first kernel that failed for that reason, "[1]" of the others.
std::string numbered(const std::string& reason, std::vector<std::string>& told) {
  const auto found = std::ranges::find(told, reason);
  const auto number = found - told.begin() + 1;
  if (found != told.end()) return fmt::format("[{}]", number);
  told.push_back(reason);
  return fmt::format("[{}] {}", number, reason);
}

/// What a thread block needs, as far as it is known.
std::int64_t shared_bytes(const Json& kernel) {
  return kernel.value("shared_bytes", std::int64_t{0}) + kernel.value("static_shared_bytes", std::int64_t{0});
}

/// What the last column says.
std::string verdict_text(const Json& kernel, std::vector<std::string>& told) {
  const std::string reason = shown(kernel, "reason");
  if (reason.empty()) return shown(kernel, "state");
  return fmt::format("{} {}", shown(kernel, "state"),
                     kernel["state"] == failed_state ? numbered(reason, told) : reason);
}

}  // namespace

Json kernel_json(const mgemm_kernel_info& kernel) {
  Json json{{"kernel", kernel.kernel},
            {"module", kernel.module},
            {"target", kernel.target},
            {"state", state_text(kernel.state)},
            {"reason", kernel.reason},
            {"threads", kernel.threads},
            {"shared_bytes", kernel.shared_bytes}};
  if (kernel.registers == 0) return json;
  json.update({{"registers", kernel.registers},
               {"local_bytes", kernel.local_bytes},
               {"static_shared_bytes", kernel.static_shared_bytes},
               {"seconds", kernel.seconds}});
  return json;
}

Json modules_json(Json entries) {
  const auto count = entries.size();
  const auto bad = std::ranges::count_if(entries, [](const Json& kernel) {
    const Json& state = kernel["state"];
    return state == state_text(MGEMM_KERNEL_EXCLUDED) || state == failed_state;
  });
  return {{"entries", std::move(entries)}, {"count", count}, {"bad", bad}};
}

bool has_failed(const Json& report) {
  return std::ranges::any_of(report["entries"], [](const Json& kernel) { return kernel["state"] == failed_state; });
}

std::string modules_text(const Json& report, const std::string& remedy) {
  const Json& entries = report["entries"];
  std::string text;
  constexpr std::string_view heading = "kernel";
  std::size_t width = heading.size();
  for (const Json& kernel : entries) width = std::max(width, shown(kernel, "kernel").size());
  const auto add_row = [&](const std::array<std::string, 7>& cells) {
    text += fmt::format("{:<8} {:<{}} {:>7} {:>9} {:>6} {:>7}  {}\n", cells[0], cells[1], width, cells[2], cells[3],
                        cells[4], cells[5], cells[6]);
  };
  add_row({"target", std::string(heading), "threads", "registers", "spills", "shared", "state"});
  std::vector<std::string> told;
  for (const Json& kernel : entries)
    add_row({shown(kernel, "target"), shown(kernel, "kernel"), shown(kernel, "threads"), shown(kernel, "registers"),
             shown(kernel, "local_bytes"), std::to_string(shared_bytes(kernel)), verdict_text(kernel, told)});
  if (!remedy.empty()) text += fmt::format("=> {}\n", remedy);
  return text + fmt::format("{} kernels, {} not to be used\n", shown(report, "count"), shown(report, "bad"));
}

std::string compile_remedy(const Json& environment) {
  if (part(part(environment, "nvrtc"), "available") != false) return "run mamba-gemm doctor, which says what to do";
  return is_to_blame(environment, nvrtc_variable) ? correction_of(nvrtc_variable) : check_nvrtc(environment).remedy;
}

}  // namespace mgemm::cli
