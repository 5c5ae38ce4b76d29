// Kernels that are not as the library makes them, loaded past it: by the driver's compiler, without admission.
#pragma once
#include <span>
#include <string>

#include "compile/compiler.hpp"
#include "compile/module_text.hpp"
#include "device/cuda_device.hpp"
#include "support/broken_kernels.hpp"

namespace mgemm::test {

/// A kernel of edited sources, or one compiled for another target, in the current CUDA context; for a scope.
class EditedKernel {
 public:
  EditedKernel(const CudaDevice& device, const KernelRow& row, std::span<const Edit> edits)
      : EditedKernel(device, row, edits, target_for(device.facts().compute_major, device.facts().compute_minor)) {}
  EditedKernel(const CudaDevice& device, const KernelRow& row, std::span<const Edit> edits, const std::string& target)
      : driver_(device.driver()) {
    const EditedSources sources(edits);
    const std::string name(row.module.view());
    const Compiled compiled =
        compile(nvrtc(device.facts().driver_version), {name, module_text(name), sources.files(), target});
    check(driver_.cuModuleLoadDataEx(&module_, compiled.ptx.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
    check(driver_.cuModuleGetFunction(&function_, module_, row.symbol.c_str()), "cuModuleGetFunction");
    check(driver_.cuFuncSetAttribute(function_, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, row.shared_bytes()),
          "cuFuncSetAttribute");
  }
  ~EditedKernel() { static_cast<void>(driver_.cuModuleUnload(module_)); }
  EditedKernel(const EditedKernel&) = delete;
  EditedKernel& operator=(const EditedKernel&) = delete;
  EditedKernel(EditedKernel&&) = delete;
  EditedKernel& operator=(EditedKernel&&) = delete;

  cuda::Function function() const { return function_; }

 private:
  const DriverTable& driver_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
};

}  // namespace mgemm::test
