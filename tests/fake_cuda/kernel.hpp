// What the kernels of the catalogue do, on the host, for the fake driver's hook.
#pragma once
#include <cstring>
#include <stdexcept>

#include "catalogue/catalogue.hpp"
#include "compile/tensor_probe_text.hpp"
#include "fake_cuda/fake_driver.hpp"
#include "gemm_params.h"
#include "numeric/evaluator.hpp"

namespace mgemm::fake {

/// The one parameter of a kernel.
inline Parameter parameter_of(const KernelRow& row) {
  using namespace mgemm_kernel;
  return row.tensor_maps ? Parameter{sizeof(TensorParams), alignof(TensorParams)}
                         : Parameter{sizeof(GemmParams), alignof(GemmParams)};
}

/// The catalogue's row of a kernel, or what one of the tensor probe's would have.
inline KernelRow row_of(const std::string& kernel) {
  if (const KernelRow* const found = find_kernel(kernel)) return *found;
  for (const TensorProbeKernel& probe : tensor_probe_kernels) {
    if (kernel != probe.symbol) continue;
    KernelRow row;
    row.op = Op::nt;
    row.in_type = probe.type;
    row.out_type = Type::f32;
    return row;
  }
  throw std::logic_error("a launch of a kernel that the library does not have");
}

/// What a correct kernel does with its arguments on a board with these tensor cores.
inline EvaluatorInput input_of(const Launch& launch, const TensorSet& set = sm90_set) {
  mgemm_kernel::GemmParams p{};
  if (launch.arguments.size() < sizeof p) throw std::logic_error("a launch without GemmParams");
  std::memcpy(&p, launch.arguments.data(), sizeof p);
  const KernelRow row = row_of(launch.kernel);
  EvaluatorInput input;
  input.in_type = row.in_type;
  input.out_type = row.out_type;
  input.arithmetic = contract_for(row.in_type, set).arithmetic;
  input.rows = p.rows;
  input.columns = p.columns;
  input.reduction = p.reduction;
  input.a = p.a;
  input.a_strides = row.op == Op::tn ? Strides{1, p.lda} : Strides{p.lda, 1};
  input.b = p.b;
  input.b_strides = row.op == Op::nt ? Strides{1, p.ldb} : Strides{p.ldb, 1};
  input.bias = p.bias;
  input.out = p.out;
  input.out_leading = p.ldout;
  input.alpha = p.alpha;
  input.beta = p.beta;
  const std::int64_t length = p.slice_length == 0 ? 1 : p.slice_length;
  input.slices = {p.reduction == 0 ? 1 : (p.reduction + length - 1) / length, p.slice_length};
  input.fold = row.slices == SliceMode::f64 ? Fold::f64 : Fold::f32;
  return input;
}

inline float* out_of(const EvaluatorInput& input) { return static_cast<float*>(input.out); }

/// A correct kernel on a Hopper board.
inline void compute(const Launch& launch) { evaluate(input_of(launch), best_isa(), 1); }

/// Correct kernels on a board with these tensor cores.
inline auto compute_by(const TensorSet& set) {
  return [set](const Launch& launch) { evaluate(input_of(launch, set), best_isa(), 1); };
}

/// Tensor cores that no contract has.
inline constexpr TensorSet unknown_set{
    "unknown", 0, {"MMA_F32/L8F25", 1, Arithmetic::l8f25}, {"TF32/L8F24", 1, Arithmetic::l8f24}};

}  // namespace mgemm::fake
