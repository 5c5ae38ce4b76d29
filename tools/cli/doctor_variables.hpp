// What the checks of `mamba-gemm doctor` share: lists, and variables that are to blame.
#pragma once
#include <string>
#include <string_view>

#include "doctor_report.hpp"

namespace mgemm::cli {

inline constexpr const char* nvrtc_variable = "MAMBA_GEMM_NVRTC";

/// The elements of a list, nothing if it is none.
Json list_in(const Json& object, const char* key);

/// The environment's object of a variable; null if the library does not know it.
Json variable_named(const Json& environment, std::string_view name);

/// Whether one of the library's variables is set and wrong, which has a check of its own.
bool is_to_blame(const Json& environment, std::string_view name);

/// What to do about it.
std::string correction_of(std::string_view name);

/// What there is none of because of such a variable: only a note.
Check blame(std::string what, std::string_view variable);

}  // namespace mgemm::cli
