// The small products by which a kernel shows that it computes its contract.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.hpp"

namespace mgemm {

/// To be raised when a change here would find what it did not before.
constexpr int probe_revision = 7;

struct Probe {
  Problem problem;
  Contract contract;  // slices are short ones, and not what the problem's own would be
  // Elements by which addresses are off 256-byte alignment: of the operands, within the kernel's class, and of the
  // output.
  std::int64_t a_shift = 0, b_shift = 0, out_shift = 0;
  bool exceptional = false;
};

/// For each kernel, by the contracts of `set`: sizes round the edges of its tile, reductions below one stage and round
/// all of them with every kind of remainder, uneven last slices, operands aligned no better than the kernel asks for,
/// both or one of them, alpha, beta and bias, and rows with infinities, NaNs, -0, subnormals and overflow.
std::vector<Probe> probes_for(const KernelRow& row, const TensorSet& set);

/// The operands of a probe in one block: guards round each, random bytes in all gaps, and in an output that must not be
/// read. The same in every process.
struct ProbeBlock {
  std::vector<std::byte> bytes;
  std::int64_t a = 0, b = 0, bias = 0, out = 0;  // first bytes

  /// Addresses in a copy of the block at `base`.
  mgemm_operands operands(const Probe& probe, std::uint64_t base) const;
};

/// `name` makes the numbers different for each kernel.
ProbeBlock make_block(const Probe& probe, std::string_view name);

/// What the block must be afterwards: nothing but the output's elements may have changed.
ProbeBlock expected_block(const Probe& probe, const ProbeBlock& before);

/// The first difference for people, "" if there is none: an element of the output with both values, or a byte that must
/// not have been written.
std::string first_difference(const Probe& probe, const ProbeBlock& expected, const ProbeBlock& got);

}  // namespace mgemm
