#pragma once
#include <cstdint>

#include "compare.hpp"
#include "operands.hpp"

namespace mgemm::cli {

/// What a check may spend and what it looks at.
struct CheckOptions {
  std::int64_t samples = 0;                   // at least 1024 are taken
  std::uint64_t seed = 0;                     // of the samples
  std::int32_t threads = 0;                   // of the evaluator
  bool by_reference = false;                  // the output is the evaluator's own
  std::int32_t profile = MGEMM_PROFILE_SM90;  // whose contracts, as the launch's description says
};

/// Multiply-adds of the product.
double multiply_adds(const mgemm_problem& problem);

/// Compares an output with the contract: all of it, gap included, by a reference context on the host copies, up to 2^33
/// multiply-adds; beyond that a sample. What the reference device computed is sampled as well, because single elements
/// are evaluated by other code.
Comparison check_output(const HostOperands& operands, const Array& out, const CheckOptions& options);

}  // namespace mgemm::cli
