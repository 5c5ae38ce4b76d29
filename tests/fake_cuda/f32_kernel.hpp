// What the exact f32 kernels do, on the host, for the fake driver's hook.
#pragma once
#include <cstring>
#include <stdexcept>

#include "f32_params.h"
#include "fake_cuda/fake_driver.hpp"
#include "numeric/evaluator.hpp"

namespace mgemm::fake {

/// What a correct kernel does with its arguments.
inline EvaluatorInput input_of(const Launch& launch) {
  mgemm_kernel::F32Params p{};
  if (launch.arguments.size() != sizeof p) throw std::logic_error("a launch without F32Params");
  std::memcpy(&p, launch.arguments.data(), sizeof p);
  const bool tn = launch.kernel.find("_tn_") != std::string::npos;
  const bool nt = launch.kernel.find("_nt_") != std::string::npos;
  EvaluatorInput input;
  input.rows = p.rows;
  input.columns = p.columns;
  input.reduction = p.reduction;
  input.a = p.a;
  input.a_strides = tn ? Strides{1, p.lda} : Strides{p.lda, 1};
  input.b = p.b;
  input.b_strides = nt ? Strides{1, p.ldb} : Strides{p.ldb, 1};
  input.bias = p.bias;
  input.out = p.out;
  input.out_leading = p.ldout;
  input.alpha = p.alpha;
  input.beta = p.beta;
  const std::int64_t length = p.slice_length == 0 ? 1 : p.slice_length;
  input.slices = {p.reduction == 0 ? 1 : (p.reduction + length - 1) / length, p.slice_length};
  input.fold = tn ? Fold::f64 : Fold::f32;
  return input;
}

inline float* out_of(const EvaluatorInput& input) { return static_cast<float*>(input.out); }

/// A correct kernel.
inline void compute(const Launch& launch) { evaluate(input_of(launch), Isa::generic, 1); }

}  // namespace mgemm::fake
