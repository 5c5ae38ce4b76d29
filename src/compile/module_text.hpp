#pragma once
#include <span>
#include <string>
#include <string_view>

#include "catalogue/catalogue.hpp"

namespace mgemm {

/// The translation unit of a module: one thin extern "C" kernel per catalogue row, round the templates of cuda_src/. A
/// pure function of the catalogue, so that its text is the same in every build of the same sources.
std::string module_text(std::string_view module);

/// The same for rows of one family, in the catalogue or not.
std::string kernels_text(std::span<const KernelRow> rows);

}  // namespace mgemm
