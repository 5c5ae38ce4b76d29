#pragma once
#include <array>
#include <string>
#include <string_view>

#include "numeric/problem.hpp"

namespace mgemm {

/// The module by which a board's tensor cores show how they add (module/tensor_probe.hpp). It is compiled, cached and
/// loaded as those of the catalogue are, and is none of them.
inline constexpr std::string_view tensor_probe_module = "tensor_probe";

struct TensorProbeKernel {
  Type type;
  const char* symbol;
};

inline constexpr std::array tensor_probe_kernels{
    TensorProbeKernel{Type::bf16, "mgemm_tensor_probe_bf16"},
    TensorProbeKernel{Type::f16, "mgemm_tensor_probe_f16"},
    TensorProbeKernel{Type::tf32, "mgemm_tensor_probe_tf32"},
};

/// Rows and columns of the output that one thread block, of one warp, computes.
inline constexpr std::int64_t tensor_probe_rows = 16;
inline constexpr std::int64_t tensor_probe_columns = 8;

/// Its translation unit.
std::string tensor_probe_text();

}  // namespace mgemm
