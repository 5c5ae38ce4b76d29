// What `mamba-gemm modules` found, as a table for people and as JSON.
#pragma once
#include <string>

#include "report.hpp"

namespace mgemm::cli {

/// {"kernel", "module", "target", "state", "reason", ..}. What only a compiler knows is there if it was asked.
Json kernel_json(const mgemm_kernel_info& kernel);

/// {"entries", "count", "bad"} of such objects; bad are those that are not to be used.
Json modules_json(Json entries);

bool has_failed(const Json& report);

/// A line for each of them, then what to do about those that failed, if that is not "", and the counts in the last one.
/// Kernels that failed for the same reason share its number, and the first of them tells it.
std::string modules_text(const Json& report, const std::string& remedy);

/// What to do where kernels do not compile, by the library's environment; null if that is not known.
std::string compile_remedy(const Json& environment);

}  // namespace mgemm::cli
