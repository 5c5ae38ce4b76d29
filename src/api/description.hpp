#pragma once
#include <string>

#include "context/context.hpp"

namespace mgemm {

/// What a plan or launch is; `operands` are empty for a plan.
mgemm_description describe(const Context& context, const Plan& plan, const Work& work, const mgemm_operands& operands);

/// The same as JSON, with the fields of the identity.
std::string describe_json(const Context& context, const Plan& plan, const Work& work, const mgemm_operands& operands);

}  // namespace mgemm
