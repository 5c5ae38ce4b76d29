// A GPU without one: the fake driver with the fake NVRTC, whose kernels do what a test says.
#pragma once
#include <cstring>
#include <string>

#include "catalogue/catalogue.hpp"
#include "f32_params.h"
#include "fake_cuda/fake_driver.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "numeric/evaluator.hpp"
#include "support/test.hpp"

namespace mgemm::test {

/// What a correct kernel does with its arguments.
inline EvaluatorInput input_of(const fake::Launch& launch) {
  mgemm_kernel::F32Params p{};
  REQUIRE(launch.arguments.size() == sizeof p);
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

/// A fake board with a fake compiler whose kernels compute their contract.
struct FakeBoard {
  fake::Driver driver;
  fake::Nvrtc nvrtc;

  FakeBoard() {
    for (const KernelRow& row : catalogue()) {
      nvrtc.set_parameters(std::string(row.symbol.view()), {{sizeof(mgemm_kernel::F32Params), 8}});
    }
    driver.on_launch([](const fake::Launch& launch) { evaluate(input_of(launch), Isa::generic, 1); });
  }

  static mamba_gemm::Context context(const char* cache_dir = "off") {
    mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
    options.cache_dir = cache_dir;
    return mamba_gemm::Context(options);
  }
};

}  // namespace mgemm::test
