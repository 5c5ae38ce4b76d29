#pragma once
#include <cstdint>
#include <optional>

#include "base/cuda_abi.hpp"
#include "catalogue/catalogue.hpp"
#include "gemm_params.h"

namespace mgemm {

/// What the copy engine brings into shared memory at a time: a box of an operand, whose inner direction is the
/// contiguous one. In elements, but for `line_bytes`.
struct TensorBox {
  Type type{};
  std::uint64_t address = 0;
  std::uint64_t inner = 0, outer = 0;  // the operand's extents
  std::uint64_t leading = 0;           // from one line of the operand to the next
  std::uint32_t line_bytes = 0;        // of the box; it is permuted by lines of so many bytes
  std::uint32_t lines = 0;
};

/// A kernel's boxes of the operands of a problem.
TensorBox box_of_a(const KernelRow& row, const Problem& problem, std::uint64_t address);
TensorBox box_of_b(const KernelRow& row, const Problem& problem, std::uint64_t address);

/// The box of the last columns of b, for kernels that copy them apart.
std::optional<TensorBox> box_of_rest(const KernelRow& row, const Problem& problem, std::uint64_t address);

/// The box by which a kernel stores the output, or none if it does not, or the copy engine cannot write that output.
std::optional<TensorBox> box_of_out(const KernelRow& row, const Problem& problem, std::uint64_t address);

/// The driver's map of it. `name` is the operand's, for errors.
mgemm_kernel::TensorMap encode_tensor_map(cuda::fn::TensorMapEncodeTiled* encode, const char* name,
                                          const TensorBox& box);

}  // namespace mgemm
