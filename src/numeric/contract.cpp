#include "numeric/contract.hpp"

#include <fmt/core.h>

namespace mgemm {

std::string to_string(const Contract& contract) { return fmt::format("{}/{}", contract.name, contract.revision); }

}  // namespace mgemm
