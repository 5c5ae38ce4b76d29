// Targets as --arch names them.
#pragma once
#include <string>

namespace mgemm::cli {

/// The same list as the library takes it, which has `all` alone. BadInput names the word that is no target, what there
/// is, and which was probably meant.
std::string chosen_targets(const std::string& text);

}  // namespace mgemm::cli
