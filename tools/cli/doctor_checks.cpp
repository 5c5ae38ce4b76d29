#include "doctor_checks.hpp"

#include <fmt/core.h>

#include "doctor_variables.hpp"

namespace mgemm::cli {
namespace {

constexpr const char* helper_variable = "MAMBA_GEMM_HELPER";

std::string candidate_text(const Json& candidate) {
  return fmt::format("{} (from {}, version {}): {}", shown(candidate, "path"), shown(candidate, "source"),
                     shown(candidate, "version"), shown(candidate, "verdict"));
}

/// The driver's CUDA version as a bound, where there is a driver.
std::string not_newer_than_driver(const Json& environment) {
  const Json driver = part(environment, "driver");
  if (part(driver, "available") != true) return {};
  return fmt::format(" and not newer than the driver's CUDA {}", shown(driver, "version"));
}

/// What is most likely to help where no candidate serves.
std::string remedy_without_nvrtc(const Json& environment) {
  const Json nvrtc = part(environment, "nvrtc");
  for (const Json& candidate : list_in(nvrtc, "candidates")) {
    if (part(candidate, "newer_than_driver") == true)
      return fmt::format("install a driver for CUDA {} or newer, or an NVRTC from {}{}", shown(candidate, "version"),
                         shown(nvrtc, "oldest"), not_newer_than_driver(environment));
    if (part(candidate, "builtins").is_null())
      return fmt::format(
          "put the libnvrtc-builtins.so of the same release beside {}, or name a complete NVRTC with MAMBA_GEMM_NVRTC",
          shown(candidate, "path"));
  }
  return fmt::format(
      "install NVRTC {} or newer{} (pip install nvidia-cuda-nvrtc, or the CUDA toolkit), or name one with "
      "MAMBA_GEMM_NVRTC",
      shown(nvrtc, "oldest"), not_newer_than_driver(environment));
}

Check check_nvrtc_missing(const Json& environment) {
  const Json nvrtc = part(environment, "nvrtc");
  if (is_to_blame(environment, nvrtc_variable)) return blame("nvrtc", nvrtc_variable);
  Check check{"nvrtc", usable_devices(environment).empty() ? State::note : State::problem, "", ""};
  for (const Json& candidate : list_in(nvrtc, "candidates")) check.details.push_back(candidate_text(candidate));
  check.found = check.details.empty() ? "none was found" : "what was found cannot be used";
  if (check.details.empty()) {
    for (const Json& places : list_in(nvrtc, "searched"))
      check.details.push_back(fmt::format("looked in {}: {}", shown(places, "source"), shown(places, "note")));
  }
  if (check.state == State::note) check.found += "; the reference device needs none";
  check.remedy = remedy_without_nvrtc(environment);
  return check;
}

}  // namespace

Check check_driver(const Json& environment, bool kernel_driver_is_loaded) {
  const Json driver = part(environment, "driver");
  if (part(driver, "available") == true) return {"driver", State::ok, "CUDA " + shown(driver, "version")};
  Check check{"driver", State::problem, shown(driver, "error"), ""};
  const std::string status = shown(driver, "status");
  if (status == "MGEMM_UNSUPPORTED") {
    check.remedy = fmt::format("install NVIDIA's driver 550 or newer, which has CUDA {}", shown(driver, "oldest"));
  } else if (status != "MGEMM_NO_DEVICE") {
    check.remedy =
        "run nvidia-smi; if it fails too, restart after an update of the driver, or install it anew so that its kernel "
        "module and libcuda.so.1 are of one release";
  } else if (const Json visible = part(variable_named(environment, "CUDA_VISIBLE_DEVICES"), "value");
             visible.is_string()) {
    check.state = State::note;
    check.remedy = "unset CUDA_VISIBLE_DEVICES if it hides a GPU that is to be used";
  } else if (kernel_driver_is_loaded) {
    check.remedy =
        "give the process the driver's libcuda.so.1 and the GPU's device files; a container needs NVIDIA's container "
        "toolkit and --gpus all";
  } else {
    check.state = State::note;
    check.remedy = "install NVIDIA's driver 550 or newer if there is a GPU; --device reference computes the same bits";
  }
  return check;
}

std::vector<Json> usable_devices(const Json& environment) {
  std::vector<Json> usable;
  for (const Json& device : list_in(environment, "devices"))
    if (part(device, "target").is_string()) usable.push_back(device);
  return usable;
}

std::vector<Check> check_devices(const Json& environment) {
  std::vector<Check> checks;
  if (part(part(environment, "driver"), "available") != true) return checks;
  const bool one_is_usable = !usable_devices(environment).empty();
  for (const Json& device : list_in(environment, "devices")) {
    Check check{fmt::format("device cuda:{}", shown(device, "ordinal")), State::ok,
                fmt::format("{}, compute capability {}", shown(device, "name"), shown(device, "compute_capability"))};
    if (part(device, "target").is_string()) {
      check.found += ", target " + shown(device, "target");
    } else {
      check.state = one_is_usable ? State::note : State::problem;
      check.found += ", which this release has no kernels for";
      check.remedy = "use a GPU of compute capability 8.0 or newer that this release knows, or --device reference";
    }
    checks.push_back(std::move(check));
  }
  if (checks.empty())
    checks.push_back({"devices", State::note, "the driver shows none",
                      "run nvidia-smi, and unset CUDA_VISIBLE_DEVICES if it hides a GPU that is to be used"});
  return checks;
}

Check check_nvrtc(const Json& environment) {
  const Json nvrtc = part(environment, "nvrtc");
  if (part(nvrtc, "available") != true) return check_nvrtc_missing(environment);
  const std::string path = shown(nvrtc, "path");
  Check check{"nvrtc", State::ok, fmt::format("{}, version {}", path, shown(nvrtc, "version"))};
  for (const Json& candidate : list_in(nvrtc, "candidates")) {
    if (shown(candidate, "path") != path) {
      check.details.push_back(candidate_text(candidate));
      continue;
    }
    check.found += ", with " + shown(candidate, "builtins");
    if (part(candidate, "newer_than_driver") != true) continue;
    const bool has_helper = part(part(environment, "helper"), "path").is_string();
    check.state = has_helper || is_to_blame(environment, helper_variable) ? State::note : State::problem;
    check.found += has_helper ? "; newer than the driver, so only its machine code serves"
                              : "; newer than the driver, and without the helper program there is no machine code";
    check.remedy = fmt::format("install a driver for CUDA {} or newer, or an NVRTC from {}{}", shown(nvrtc, "version"),
                               shown(nvrtc, "oldest"), not_newer_than_driver(environment));
  }
  return check;
}

Check check_helper(const Json& environment) {
  const Json helper = part(environment, "helper");
  if (part(helper, "path").is_string())
    return {"helper", State::ok, fmt::format("{} ({})", shown(helper, "path"), shown(helper, "source"))};
  if (is_to_blame(environment, helper_variable)) return blame("helper", helper_variable);
  const std::string value = shown(variable_named(environment, helper_variable), "value");
  if (value != "-" && !value.empty())
    return {"helper", State::note,
            fmt::format("turned off by {}; the driver translates PTX at every start", helper_variable),
            fmt::format("unset {} for faster starts", helper_variable)};
  return {"helper", State::note, shown(helper, "error"),
          fmt::format("install mamba-gemm-assemble with the library, or name it with {}, for faster starts",
                      helper_variable)};
}

Compiled compiled_of(const mgemm_kernel_info& kernel) {
  return {kernel.kernel, kernel.target, kernel.reason, kernel.seconds, kernel.state == MGEMM_KERNEL_EXCLUDED};
}

Check check_compiled(const Compiled& compiled, const std::string& helper) {
  const std::string what = fmt::format("{} for {}", compiled.kernel, compiled.target);
  if (compiled.reason.empty()) return {"compile", State::ok, fmt::format("{} in {:.1f} s", what, compiled.seconds)};
  if (compiled.is_excluded)
    return {"compile", State::problem, fmt::format("{} must not be used: {}", what, compiled.reason),
            fmt::format("install another release of NVRTC, or name one with {}, and report this with the output of "
                        "mamba-gemm info",
                        nvrtc_variable)};
  Check check{"compile", State::problem, compiled.reason, ""};
  // The library names the program where that is at fault, and passes on the compiler's words where it is not.
  if (compiled.reason.find(helper + " ") != std::string::npos) {
    check.remedy =
        "name this release's mamba-gemm-assemble with MAMBA_GEMM_HELPER or install it anew; with 'off' there PTX "
        "serves";
  } else {
    check.remedy = "install another NVRTC that is complete and knows this target, or name one with MAMBA_GEMM_NVRTC";
  }
  return check;
}

}  // namespace mgemm::cli
