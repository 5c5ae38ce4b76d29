#pragma once
#include <memory>

#include "compile/artifact.hpp"
#include "device/device.hpp"
#include "numeric/contract.hpp"

namespace mgemm {

/// Every contract of this release with its revision.
Identity contract_set_identity();

/// What a caller may choose about how products are computed.
Identity policy_identity();

/// What dispatch chooses by: the measured rates of all kernels, and the revision of the cost model.
Identity tuning_identity();

/// All that decides how one product is computed, and the identities it is made of.
struct RouteIdentity {
  Identity device;
  Identity policy{policy_identity()};
  Identity contracts{contract_set_identity()};
  Identity tuning{tuning_identity()};
  std::shared_ptr<const ArtifactIdentity> code{};  // nullptr if no compiled code is involved
  Identity route{"mamba-gemm route", 2};           // of all of these, the problem and the kernel

  void finish(const Problem& problem, const Contract& contract, const std::string& kernel);
};

}  // namespace mgemm
