#pragma once
#include <cstdint>
#include <string>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm::cli::bench {

/// Multiplications and additions.
double flops_of(const mgemm_problem& problem);

/// Bytes that must come from memory or go there: each operand once, and the old output where it counts.
double bytes_of(const mgemm_problem& problem);

/// The fields of a problem string.
struct ProblemName {
  std::string op, type;
  std::string label;  // "M,K,N", and what differs from the defaults
};
ProblemName name_of(const std::string& problem);

/// How large the relative error norm between two correct products may be: both round every output element to its type,
/// and add in different orders; TF32 may also truncate its inputs where another rounds. A wrong layout gives more
/// than 1.
double error_bound(const mgemm_problem& problem);

}  // namespace mgemm::cli::bench
