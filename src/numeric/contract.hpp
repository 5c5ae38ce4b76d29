#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/checked.hpp"
#include "numeric/arithmetic.hpp"
#include "numeric/problem.hpp"

namespace mgemm {

/// How the partial results of the slices are added up, in ascending order.
enum class Fold : std::int32_t { f32 = 1, f64 = 2 };

/// The reduction range cut into `count` slices of `length`, the last of which may be shorter. Slices are numerics: each
/// is a chain of its own.
struct Slices {
  std::int64_t count = 1;
  std::int64_t length = 0;
};

/// The exact arithmetic of a problem. See docs/contracts.md.
struct Contract {
  const char* name = nullptr;
  int revision = 0;
  Arithmetic arithmetic = Arithmetic::fma32;
  Slices slices;
  Fold fold = Fold::f32;
};

/// The contracts that exist. Any change of the bits of one, its slice rules among them, is a new revision.
struct ContractRevision {
  const char* name;
  int revision;
  Arithmetic arithmetic;
};
inline constexpr ContractRevision f32_fma{"F32_FMA", 1, Arithmetic::fma32};

/// The contracts of one kind of tensor cores, by the reference device's profile that has them too.
struct TensorSet {
  const char* name;
  std::int32_t profile;  // MGEMM_PROFILE_*
  ContractRevision halves, tf32;
};

/// All that are known. What a board has is found out on the board (module/tensor_probe.hpp).
inline constexpr std::array tensor_sets{
    TensorSet{
        "sm90", MGEMM_PROFILE_SM90, {"MMA_F32/L16F25", 1, Arithmetic::l16f25}, {"TF32/L8F25", 1, Arithmetic::l8f25}},
    TensorSet{
        "sm80", MGEMM_PROFILE_SM80, {"MMA_F32/L8F24", 1, Arithmetic::l8f24}, {"TF32/L4F24", 1, Arithmetic::l4f24}},
};
inline constexpr const TensorSet& sm90_set = tensor_sets[0];
inline constexpr const TensorSet& sm80_set = tensor_sets[1];

/// Whether products of this type are a matter of tensor cores, and so of a set.
constexpr bool uses_tensor_cores(Type type) { return type != Type::f32; }

constexpr const ContractRevision& contract_for(Type type, const TensorSet& set) {
  return is_half(type) ? set.halves : type == Type::tf32 ? set.tf32 : f32_fma;
}

/// The set of a profile, or MGEMM_INVALID_ARGUMENT with what `field` may be.
const TensorSet& set_of_profile(const char* field, std::int32_t profile);

/// Steps of the reduction that one instruction takes: the last group of a slice is filled up with +0. Where a fused sum
/// has fewer terms, a group is several, one after the other.
constexpr std::int64_t group_of(Type type) { return is_half(type) ? 16 : type == Type::tf32 ? 8 : 1; }

/// L = 64 * ceil(R / (64 S)). Slices that would be empty do not exist.
constexpr Slices cut(std::int64_t reduction, std::int64_t slices) {
  if (reduction <= 0) return {1, 0};
  const std::int64_t length = 64 * ceil_div(reduction, 64 * slices);
  return {ceil_div(reduction, length), length};
}

/// F32_FMA, NN and NT: a function of (R, C) only, so that rows do not depend on their batch.
constexpr std::int64_t f32_slices_forward(std::int64_t reduction, std::int64_t columns) {
  return columns >= 2048 || reduction <= 512 ? 1 : ceil_div<std::int64_t>(reduction, 512);
}

/// TN: enough slices to fill 132 SMs with 128 x 192 tiles; 132 belongs to the contract, not to the board.
constexpr std::int64_t weight_gradient_slices(std::int64_t m, std::int64_t k, std::int64_t n) {
  const std::int64_t tiles = ceil_div<std::int64_t>(k, 128) * ceil_div<std::int64_t>(n, 192);
  if (tiles == 0) return 1;
  const std::int64_t most = std::min<std::int64_t>(8, std::max<std::int64_t>(1, m / 512));
  return std::clamp<std::int64_t>(132 / tiles, 1, most);
}

constexpr std::int64_t slices_of(const Problem& p) {
  if (p.op == Op::tn) return weight_gradient_slices(p.m, p.k, p.n);
  return p.in_type == Type::f32 ? f32_slices_forward(reduction(p), output_columns(p)) : 1;
}

/// On a board with these tensor cores.
constexpr Contract contract_of(const Problem& p, const TensorSet& set) {
  const ContractRevision& which = contract_for(p.in_type, set);
  const bool exact = p.in_type == Type::f32;
  return {which.name, which.revision, which.arithmetic, cut(reduction(p), slices_of(p)),
          exact && p.op == Op::tn ? Fold::f64 : Fold::f32};
}

/// The profile of a reference device that has this contract; of f32's, which all have, the first.
constexpr std::int32_t profile_of(const Contract& contract) {
  for (const TensorSet& set : tensor_sets) {
    for (const ContractRevision* const known : {&set.halves, &set.tf32}) {
      if (std::string_view(contract.name) == known->name) return set.profile;
    }
  }
  return tensor_sets.front().profile;
}

/// "F32_FMA/1": name and revision.
std::string to_string(const ContractRevision& contract);
std::string to_string(const Contract& contract);

/// The only NaN that leaves a product.
constexpr std::uint32_t canonical_nan_bits = 0x7fffffffU;

}  // namespace mgemm
