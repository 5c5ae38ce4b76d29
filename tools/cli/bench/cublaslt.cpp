#include "bench/cublaslt.hpp"

#include <array>
#include <cstdlib>

#include <fmt/core.h>

#include "operands.hpp"

namespace mgemm::cli::bench {
namespace {

lt::DataType data_type(std::int32_t type) {
  switch (type) {
    case MGEMM_TYPE_BF16:
      return lt::DataType::bf16;
    case MGEMM_TYPE_F16:
      return lt::DataType::f16;
    default:
      return lt::DataType::f32;
  }
}

lt::Compute compute_type(std::int32_t in_type) {
  return in_type == MGEMM_TYPE_TF32 ? lt::Compute::f32_fast_tf32 : lt::Compute::f32;
}

void make_layout(const CublasLt& library, LtOwner<lt::Layout>& layout, std::int32_t type, const Matrix& matrix) {
  library.check(library.layout_create(layout.to_fill(), data_type(type), static_cast<std::uint64_t>(matrix.columns),
                                      static_cast<std::uint64_t>(matrix.rows), matrix.leading),
                "cublasLtMatrixLayoutCreate");
}

void set_transposed(const CublasLt& library, lt::Matmul matmul, lt::MatmulAttribute which, bool transposed) {
  const lt::Operation operation = transposed ? lt::Operation::transpose : lt::Operation::none;
  library.check(library.matmul_set(matmul, which, &operation, sizeof operation), "cublasLtMatmulDescSetAttribute");
}

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

}  // namespace

std::vector<std::string> cublaslt_places(const std::string& path) {
  if (!path.empty()) return {path};
  constexpr std::array names{"libcublasLt.so.13", "libcublasLt.so.12"};
  std::vector<std::string> folders{""};
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* const toolkit = std::getenv(variable);
    if (toolkit != nullptr && *toolkit != '\0') folders.push_back(std::string(toolkit) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> places;
  for (const std::string& folder : folders)
    for (const char* const name : names) places.push_back(folder + name);
  return places;
}

CublasLt::CublasLt(const std::string& path) : library("cuBLAS (cublasLt)", cublaslt_places(path)) {
  library.find(get_version, "cublasLtGetVersion");
  library.find(get_status_name, "cublasLtGetStatusName");
  library.find(get_status_string, "cublasLtGetStatusString");
  library.find(create, "cublasLtCreate");
  library.find(destroy, "cublasLtDestroy");
  library.find(matmul_create, "cublasLtMatmulDescCreate");
  library.find(matmul_destroy, "cublasLtMatmulDescDestroy");
  library.find(matmul_set, "cublasLtMatmulDescSetAttribute");
  library.find(layout_create, "cublasLtMatrixLayoutCreate");
  library.find(layout_destroy, "cublasLtMatrixLayoutDestroy");
  library.find(preference_create, "cublasLtMatmulPreferenceCreate");
  library.find(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  library.find(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  library.find(get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.find(matmul_run, "cublasLtMatmul");
}

std::string CublasLt::description() const {
  const std::size_t version = get_version();
  return fmt::format("{}.{}.{} ({})", version / 10000, version / 100 % 100, version % 100, library.path());
}

void CublasLt::check(lt::Status status, const char* call) const {
  if (status == lt::Status::success) return;
  throw Failure(fmt::format("{} failed: {} ({}): {}", call, get_status_name(status), static_cast<int>(status),
                            get_status_string(status)));
}

CublasSession::CublasSession(const CublasLt& library, std::uint64_t workspace, std::size_t workspace_bytes)
    : library_(library),
      handle_(library.destroy),
      workspace_(reinterpret_cast<void*>(workspace)),
      workspace_bytes_(workspace_bytes) {
  library.check(library.create(handle_.to_fill()), "cublasLtCreate");
}

CublasProduct::CublasProduct(const CublasSession& session, const mgemm_problem& problem)
    : session_(session),
      alpha_(problem.alpha),
      beta_(problem.beta),
      matmul_(session.library().matmul_destroy),
      first_(session.library().layout_destroy),
      second_(session.library().layout_destroy),
      out_(session.library().layout_destroy) {
  const CublasLt& library = session.library();
  library.check(library.matmul_create(matmul_.to_fill(), compute_type(problem.in_type), lt::DataType::f32),
                "cublasLtMatmulDescCreate");
  set_transposed(library, matmul_.get(), lt::MatmulAttribute::transpose_a, problem.op == MGEMM_OP_NT);
  set_transposed(library, matmul_.get(), lt::MatmulAttribute::transpose_b, problem.op == MGEMM_OP_TN);
  const Layouts layouts = layouts_of(problem);
  make_layout(library, first_, problem.in_type, layouts.b);
  make_layout(library, second_, problem.in_type, layouts.a);
  make_layout(library, out_, problem.out_type, layouts.out);
  ask_for_heuristics();
}

void CublasProduct::ask_for_heuristics() {
  const CublasLt& library = session_.library();
  LtOwner<lt::Preference> preference(library.preference_destroy);
  library.check(library.preference_create(preference.to_fill()), "cublasLtMatmulPreferenceCreate");
  const std::size_t workspace = session_.workspace_bytes();
  library.check(library.preference_set(preference.get(), lt::PreferenceAttribute::max_workspace_bytes, &workspace,
                                       sizeof workspace),
                "cublasLtMatmulPreferenceSetAttribute");
  std::array<lt::Heuristic, most_heuristics> found{};
  int count = 0;
  library.check(library.get_heuristic(session_.handle(), matmul_.get(), first_.get(), second_.get(), out_.get(),
                                      out_.get(), preference.get(), most_heuristics, found.data(), &count),
                "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < count; ++i)
    if (found.at(static_cast<std::size_t>(i)).state == lt::Status::success)
      heuristics_.push_back(found.at(static_cast<std::size_t>(i)));
  if (heuristics_.empty()) throw Failure("cublasLtMatmulAlgoGetHeuristic knows no way of doing this product");
}

void CublasProduct::run(std::size_t heuristic, const mgemm_operands& operands, cuda::Stream stream) const {
  const CublasLt& library = session_.library();
  library.check(
      library.matmul_run(session_.handle(), matmul_.get(), &alpha_, pointer(operands.b), first_.get(),
                         pointer(operands.a), second_.get(), &beta_, pointer(operands.out), out_.get(),
                         reinterpret_cast<void*>(operands.out), out_.get(), &heuristics_.at(heuristic).algorithm,
                         session_.workspace(), session_.workspace_bytes(), stream),
      "cublasLtMatmul");
}

}  // namespace mgemm::cli::bench
