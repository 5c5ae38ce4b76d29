// What `mamba-gemm bench` asks of cuBLAS, with a fake one on host memory; and our declarations against its header.
#include "bench/cublaslt.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "bench/data.hpp"
#include "bench/graph_abi.hpp"
#include "bench/product.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "operands.hpp"
#include "support/test.hpp"

#if __has_include(<cublasLt.h>) && __has_include(<cuda.h>)
#include <cublasLt.h>
#include <cuda.h>

#include <cstddef>

using namespace mgemm::cli::bench;

// Catch: a value or a field that is not the toolkit's.
static_assert(static_cast<int>(lt::Compute::f32) == CUBLAS_COMPUTE_32F);
static_assert(static_cast<int>(lt::Compute::f32_fast_tf32) == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(static_cast<int>(lt::DataType::f32) == CUDA_R_32F);
static_assert(static_cast<int>(lt::DataType::f16) == CUDA_R_16F);
static_assert(static_cast<int>(lt::DataType::bf16) == CUDA_R_16BF);
static_assert(static_cast<int>(lt::Operation::none) == CUBLAS_OP_N);
static_assert(static_cast<int>(lt::Operation::transpose) == CUBLAS_OP_T);
static_assert(static_cast<int>(lt::MatmulAttribute::transpose_a) == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(static_cast<int>(lt::MatmulAttribute::transpose_b) == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(static_cast<int>(lt::PreferenceAttribute::max_workspace_bytes) ==
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::Heuristic, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(lt::Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
static_assert(static_cast<int>(CaptureMode::thread_local_only) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(programmatic_edge == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(offsetof(GraphEdge, type) == offsetof(CUgraphEdgeData, type));
#endif

using namespace mgemm::cli;
using namespace mgemm::cli::bench;

namespace {

constexpr std::size_t workspace_bytes = 1U << 20U;

mgemm_operands on_host(const HostOperands& operands, Array& out) {
  return mamba_gemm::operands(mamba_gemm::host_address(operands.a.bytes().data()),
                              mamba_gemm::host_address(operands.b.bytes().data()),
                              mamba_gemm::host_address(out.bytes().data()));
}

/// The relative error between the reference device's output and what the fake gives for the same problem.
double disagreement(const CublasSession& session, const std::string& text) {
  const HostOperands operands = random_operands(problem_of(text), 1);
  Array ours = operands.old;
  Array theirs = operands.old;
  mamba_gemm::Context reference = mamba_gemm::Context::reference(1);
  reference.gemm(operands.problem, on_host(operands, ours));
  CublasProduct(session, operands.problem).run(1, on_host(operands, theirs), nullptr);
  return relative_error(operands.problem.out_type, operands.layouts.out, theirs.bytes(), ours.bytes());
}

}  // namespace

// Catches a wrong layout, transposition, order of operands, type, alpha or beta: another product than ours.
TEST_CASE("cuBLAS is asked for the same product") {
  const CublasLt library(MGEMM_FAKE_CUBLASLT);
  const CublasSession session(library, 0, workspace_bytes);
  for (const char* const text :
       {"nn:f32:5x7x3", "tn:f32:5x7x3", "nt:f32:5x7x3", "nn:bf16:5x7x3", "nt:f16:5x7x3", "tn:bf16:5x7x3",
        "tn:f16:9x4x6:alpha=0.5:beta=2", "nn:bf16:5x7x3:out=f32", "nn:tf32:5x7x3:alpha=-2", "nt:tf32:5x7x3:beta=0.5",
        "nn:f32:5x7x3:lda=9:ldb=10:ldout=11", "tn:f32:5x7x3:lda=9:ldb=10:ldout=11",
        "nt:f32:5x7x3:lda=9:ldb=10:ldout=11"}) {
    CAPTURE(text);
    CHECK(disagreement(session, text) <= error_bound(problem_of(text)));
  }
}

// Catches ways that cuBLAS says it cannot go, and a failure without the call and the status.
TEST_CASE("only ways that cuBLAS can go are taken") {
  const CublasLt library(MGEMM_FAKE_CUBLASLT);
  const CublasSession session(library, 0, workspace_bytes);
  CHECK(CublasProduct(session, problem_of("nn:f32:2x3x4")).heuristics() == 2);
  CHECK(library.description() == "13.0.2 (" MGEMM_FAKE_CUBLASLT ")");
  const CublasSession no_workspace(library, 0, 0);
  std::string reason;
  try {
    const CublasProduct product(no_workspace, problem_of("nn:f32:2x3x4"));
  } catch (const Failure& failure) {
    reason = failure.what();
  }
  CHECK(reason == "cublasLtMatmulAlgoGetHeuristic failed: CUBLAS_STATUS_FAKE (7): the fake refuses");
}

// Catches a place that is not looked at, and a search where a file was named.
TEST_CASE("where cuBLAS is looked for") {
  CHECK(cublaslt_places("/a/b.so") == std::vector<std::string>{"/a/b.so"});
  const std::vector<std::string> places = cublaslt_places("");
  CHECK(places.front() == "libcublasLt.so.13");
  CHECK(places[1] == "libcublasLt.so.12");
  CHECK(std::ranges::find(places, "/usr/local/cuda/lib64/libcublasLt.so.12") != places.end());
}
