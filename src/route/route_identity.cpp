#include "route/route_identity.hpp"

#include <fmt/core.h>

#include "catalogue/catalogue.hpp"
#include "kernel/describe.hpp"
#include "route/dispatch.hpp"

namespace mgemm {

Identity contract_set_identity() {
  Identity identity("mamba-gemm contracts", 1);
  const auto add = [&](const ContractRevision& contract) {
    identity.add(contract.name, fmt::format("{}", contract.revision));
  };
  add(f32_fma);
  for (const TensorSet& set : tensor_sets) {
    add(set.halves);
    add(set.tf32);
  }
  return identity;
}

Identity policy_identity() { return Identity("mamba-gemm policy", 1).add("mode", "exact"); }

Identity tuning_identity() {
  Identity identity("mamba-gemm tuning", 1);
  identity.add("cost model", fmt::format("{}", cost_model_revision));
  for (const CompileTarget& target : compile_targets) {
    const auto& [f32, tf32, halves] = target.peaks;
    identity.add(target.exact, fmt::format("{} {} {}", f32, tf32, halves));
  }
  for (const KernelRow& row : catalogue()) {
    identity.add(row.symbol.view(), fmt::format("{} {}", row.rate_full, row.rate_one));
  }
  return identity;
}

Identity route_identity(const Problem& problem, const Contract& contract, const std::string& kernel,
                        const Identity& device, const ArtifactIdentity* code) {
  const auto of_code = [code](Identity ArtifactIdentity::*part) {
    return code != nullptr ? std::optional(to_hex((code->*part).digest())) : std::nullopt;
  };
  Identity route("mamba-gemm route", 2);
  route.add("problem", to_string(problem))
      .add("contract", to_string(contract))
      .add("slices", fmt::format("{} of {}", contract.slices.count, contract.slices.length))
      .add("kernel", kernel)
      .add("device", device.digest())
      .add("policy", policy_identity().digest())
      .add("contracts", contract_set_identity().digest())
      .add("source", of_code(&ArtifactIdentity::source))
      .add("compiler", of_code(&ArtifactIdentity::compiler))
      .add("artifact", of_code(&ArtifactIdentity::artifact))
      .add("tuning", tuning_identity().digest())
      .add("schedule", fmt::format("{}", schedule_revision));
  return route;
}

}  // namespace mgemm
