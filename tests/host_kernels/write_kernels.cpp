// Writes every module's text, and a table of the kernels in them, as one C++ source for the host.
#include <cstdio>
#include <fstream>

#include "catalogue/catalogue.hpp"
#include "compile/module_text.hpp"

int main(int, char** argv) {
  std::ofstream out(argv[1]);
  out << "#include \"host_kernels/cuda_on_host.hpp\"\n#include \"host_kernels/kernels.hpp\"\n";
  for (const mgemm::KernelRow& row : mgemm::catalogue()) out << mgemm::module_text(row.module.view());
  out << "namespace mgemm::host {\nstd::span<const Kernel> kernels() {\n  static const Kernel table[] = {\n";
  for (const mgemm::KernelRow& row : mgemm::catalogue()) {
    out << "    {\"" << row.symbol.view() << "\", [](const mgemm_kernel::TensorParams& p) { " << row.symbol.view()
        << (row.tensor_maps ? "(p)" : "(p.gemm)") << "; }},\n";
  }
  out << "  };\n  return table;\n}\n}  // namespace mgemm::host\n";
  out.close();
  if (!out) std::fprintf(stderr, "cannot write %s\n", argv[1]);
  return out ? 0 : 1;
}
