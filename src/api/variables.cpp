#include "api/variables.hpp"

#include <array>
#include <string_view>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/thread_pool.hpp"
#include "cache/location.hpp"
#include "compile/helper_path.hpp"
#include "compile/nvrtc_identity.hpp"
#include "compile/nvrtc_table.hpp"
#include "device/driver_table.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm {
namespace {

constexpr const char* force_jit_variable = "CUDA_FORCE_PTX_JIT";
constexpr const char* disable_jit_variable = "CUDA_DISABLE_PTX_JIT";

std::string nvrtc_objection(std::string_view value) {
  if (value.empty()) return {};
  const NvrtcReport& report = nvrtc_report(driver_version());
  return report.available ? "" : report.reason;
}

std::string helper_objection(std::string_view value) {
  const SearchEnvironment environment = process_environment();
  if (value.empty() || machine_code_is_off(environment)) return {};
  return find_helper(environment).reason;
}

/// A switch of somebody else's that is on: legal, and worth knowing.
std::string when_on(const char* name, std::string_view value, std::string_view consequence) {
  return value.empty() || value == "0" ? "" : fmt::format("{} is '{}': {}", name, value, consequence);
}

std::string append_flags_objection(std::string_view value) {
  return when_on(append_flags_variable, value,
                 "NVRTC compiles every kernel with these options too, which can change its bits");
}
std::string nvvm_version_objection(std::string_view value) {
  return when_on(nvvm_version_variable, value, "NVRTC takes another code generator than its own choice");
}
std::string force_jit_objection(std::string_view value) {
  return when_on(force_jit_variable, value, "the driver passes over machine code and translates PTX at every start");
}
std::string disable_jit_objection(std::string_view value) {
  return when_on(disable_jit_variable, value,
                 "the driver refuses PTX, so that a module without machine code cannot be loaded");
}
std::string no_objection(std::string_view /*value*/) { return {}; }

constexpr std::array<KnownVariable, 12> variables{{
    {override_variable, "library", nvrtc_objection},
    {cache_variable, "library", cache_objection},
    {cache_max_variable, "library", cache_max_objection},
    {helper_variable, "library", helper_objection},
    {log_variable, "library", log_objection},
    {threads_variable, "library", threads_objection},
    {simd_variable, "library", simd_objection},
    {append_flags_variable, "nvrtc", append_flags_objection},
    {nvvm_version_variable, "nvrtc", nvvm_version_objection},
    {force_jit_variable, "driver", force_jit_objection},
    {disable_jit_variable, "driver", disable_jit_objection},
    {"CUDA_VISIBLE_DEVICES", "driver", no_objection},
}};

}  // namespace

std::span<const KnownVariable> known_variables() { return variables; }

}  // namespace mgemm
