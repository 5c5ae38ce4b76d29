// What `mamba-gemm doctor` makes of the facts, which come from the library's JSON and of the machine. Pure, so that
// tests can tell it of any machine. A cause is one problem: what follows from it is only a note.
#pragma once
#include <string>
#include <vector>

#include "doctor_report.hpp"
#include "folder_facts.hpp"

namespace mgemm::cli {

/// Of variables that are set. `variables` are this process's, as NAME=value.
std::vector<Check> check_variables(const Json& environment, const std::vector<std::string>& variables);

/// No driver is only a note, for the reference device needs none, unless `kernel_driver_is_loaded`.
Check check_driver(const Json& environment, bool kernel_driver_is_loaded);

/// One for each device, or one that says there is none; nothing without a driver.
std::vector<Check> check_devices(const Json& environment);

/// The devices that can be used.
std::vector<Json> usable_devices(const Json& environment);

/// None is a problem if there is a device that needs one.
Check check_nvrtc(const Json& environment);

/// Where it is. What it can do shows when something is compiled.
Check check_helper(const Json& environment);

/// What came of compiling one kernel.
struct Compiled {
  std::string kernel, target;
  std::string reason;  // why it failed or is excluded, "" if it serves
  double seconds = 0;
  bool is_excluded = false;  // it compiled, and must not be used
};

Compiled compiled_of(const mgemm_kernel_info& kernel);

/// `helper` is the path of the helper program.
Check check_compiled(const Compiled& compiled, const std::string& helper);

/// A folder's totals, how many of its entries are sound and not, and what it lies on.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a Json does not throw, its checks only look so
struct CacheFacts {
  Json totals;
  std::uint64_t sound = 0, bad = 0;
  FolderFacts folder;
};

/// One for each side of it, as far as there is a cache.
std::vector<Check> check_cache(const Json& environment, const CacheFacts& cache);

}  // namespace mgemm::cli
