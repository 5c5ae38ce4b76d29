#include "numeric/contract.hpp"

#include "base/error.hpp"

namespace mgemm {

const TensorSet& set_of_profile(const char* field, std::int32_t profile) {
  std::string known;
  for (const TensorSet& set : tensor_sets) {
    if (set.profile == profile) return set;
    known += fmt::format("{}MGEMM_PROFILE_SM{} ({})", known.empty() ? "" : " or ", set.profile, set.profile);
  }
  invalid("{} is {}; it must be {}", field, profile, known);
}

std::string to_string(const ContractRevision& contract) {
  return fmt::format("{}/{}", contract.name, contract.revision);
}

std::string to_string(const Contract& contract) { return fmt::format("{}/{}", contract.name, contract.revision); }

}  // namespace mgemm
