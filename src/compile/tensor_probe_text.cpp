#include "compile/tensor_probe_text.hpp"

#include <fmt/core.h>

#include "catalogue/catalogue.hpp"

namespace mgemm {

std::string tensor_probe_text() {
  std::string text = "#include \"tensor_probe.cuh\"\nusing namespace mgemm_kernel;\n";
  for (const TensorProbeKernel& kernel : tensor_probe_kernels) {
    text += fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({})\n"
        "{}(const __grid_constant__ GemmParams p) {{\n"
        "  tensor_probe<{}>(p);\n"
        "}}\n",
        warp_size, kernel.symbol, static_cast<int>(kernel.type));
  }
  return text;
}

}  // namespace mgemm
