// A GPU without one: the fake driver with the fake NVRTC, whose kernels do what a test says.
#pragma once
#include <string>

#include "catalogue/catalogue.hpp"
#include "fake_cuda/fake_driver.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "fake_cuda/kernel.hpp"
#include "mamba_gemm/mamba_gemm.hpp"

namespace mgemm::test {

/// A fake board with a fake compiler whose kernels compute their contract, by the tensor cores it is made with.
struct FakeBoard {
  fake::Driver driver;
  fake::Nvrtc nvrtc;

  explicit FakeBoard(const std::string& name = fake::DeviceFacts{}.name, const TensorSet& set = sm90_set)
      : driver(named(name)) {
    for (const KernelRow& row : catalogue()) {
      nvrtc.set_parameters(std::string(row.symbol.view()), {fake::parameter_of(row)});
    }
    for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
      nvrtc.set_parameters(kernel.symbol, {{sizeof(mgemm_kernel::GemmParams), 8}});
    }
    driver.on_launch(fake::compute_by(set));
  }

  static std::vector<fake::DeviceFacts> named(const std::string& name) {
    fake::DeviceFacts facts;
    facts.name = name;
    return {facts};
  }

  static mamba_gemm::Context context(const char* cache_dir = "off") {
    mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
    options.cache_dir = cache_dir;
    return mamba_gemm::Context(options);
  }
};

}  // namespace mgemm::test
