// The one place that declares what we use of cuBLASLt, whose header is not needed to build; values are of CUDA 12
// and 13. tests/tools/bench_abi_test.cpp compares with that header where it is installed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/cuda_abi.hpp"

namespace mgemm::cli::bench::lt {

/// cublasStatus_t: any other value is an error, too.
enum class Status : int { success = 0 };
/// cublasComputeType_t
enum class Compute : int { f32 = 68, f32_fast_tf32 = 77 };
/// cudaDataType
enum class DataType : int { f32 = 0, f16 = 2, bf16 = 14 };
/// cublasOperation_t
enum class Operation : std::int32_t { none = 0, transpose = 1 };
/// cublasLtMatmulDescAttributes_t
enum class MatmulAttribute : int { transpose_a = 3, transpose_b = 4 };
/// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int { max_workspace_bytes = 1 };

struct HandleTag;
struct MatmulTag;
struct LayoutTag;
struct PreferenceTag;
using Handle = HandleTag*;
using Matmul = MatmulTag*;
using Layout = LayoutTag*;
using Preference = PreferenceTag*;

/// cublasLtMatmulAlgo_t
struct Algorithm {
  std::uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

namespace fn {

using GetVersion = std::size_t();
using GetStatusName = const char*(Status status);
using GetStatusString = const char*(Status status);
using Create = Status(Handle* handle);
using Destroy = Status(Handle handle);
using MatmulDescCreate = Status(Matmul* matmul, Compute compute, DataType scale);
using MatmulDescDestroy = Status(Matmul matmul);
using MatmulDescSetAttribute = Status(Matmul matmul, MatmulAttribute attribute, const void* value, std::size_t size);
using MatrixLayoutCreate = Status(Layout* layout, DataType type, std::uint64_t rows, std::uint64_t columns,
                                  std::int64_t leading);
using MatrixLayoutDestroy = Status(Layout layout);
using MatmulPreferenceCreate = Status(Preference* preference);
using MatmulPreferenceDestroy = Status(Preference preference);
using MatmulPreferenceSetAttribute = Status(Preference preference, PreferenceAttribute attribute, const void* value,
                                            std::size_t size);
using MatmulAlgoGetHeuristic = Status(Handle handle, Matmul matmul, Layout a, Layout b, Layout c, Layout d,
                                      Preference preference, int wanted, Heuristic* results, int* found);
using MatmulRun = Status(Handle handle, Matmul matmul, const void* alpha, const void* a, Layout a_layout, const void* b,
                         Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d, Layout d_layout,
                         const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, cuda::Stream stream);

}  // namespace fn
}  // namespace mgemm::cli::bench::lt
