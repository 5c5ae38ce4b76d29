#pragma once
#include <string>

#include "compile/artifact.hpp"
#include "numeric/contract.hpp"

namespace mgemm {

/// Every contract of this release with its revision.
Identity contract_set_identity();

/// What a caller may choose about how products are computed.
Identity policy_identity();

/// What dispatch chooses by: the measured rates of all kernels, and the revision of the cost model.
Identity tuning_identity();

/// All that decides how one product is computed: the problem, the kernel, and the digests of these identities, of the
/// device's and of its code's (nullptr if no compiled code is involved).
Identity route_identity(const Problem& problem, const Contract& contract, const std::string& kernel,
                        const Identity& device, const ArtifactIdentity* code);

}  // namespace mgemm
