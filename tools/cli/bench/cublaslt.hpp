#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/cublaslt_abi.hpp"
#include "bench/shared_library.hpp"
#include "mamba_gemm/mamba_gemm.h"

namespace mgemm::cli::bench {

/// Where cuBLASLt is looked for: `path` alone if it is not "", else what the loader finds and the toolkits' folders.
std::vector<std::string> cublaslt_places(const std::string& path);

/// cuBLASLt's functions. Opening needs neither driver nor device.
struct CublasLt {
  explicit CublasLt(const std::string& path);

  SharedLibrary library;
  lt::fn::GetVersion* get_version = nullptr;
  lt::fn::GetStatusName* get_status_name = nullptr;
  lt::fn::GetStatusString* get_status_string = nullptr;
  lt::fn::Create* create = nullptr;
  lt::fn::Destroy* destroy = nullptr;
  lt::fn::MatmulDescCreate* matmul_create = nullptr;
  lt::fn::MatmulDescDestroy* matmul_destroy = nullptr;
  lt::fn::MatmulDescSetAttribute* matmul_set = nullptr;
  lt::fn::MatrixLayoutCreate* layout_create = nullptr;
  lt::fn::MatrixLayoutDestroy* layout_destroy = nullptr;
  lt::fn::MatmulPreferenceCreate* preference_create = nullptr;
  lt::fn::MatmulPreferenceDestroy* preference_destroy = nullptr;
  lt::fn::MatmulPreferenceSetAttribute* preference_set = nullptr;
  lt::fn::MatmulAlgoGetHeuristic* get_heuristic = nullptr;
  lt::fn::MatmulRun* matmul_run = nullptr;

  /// For example "13.0.2 (/usr/local/cuda/lib64/libcublasLt.so.13)".
  std::string description() const;
  /// Failure with the call and cuBLAS's name and text of the status, unless that is success.
  void check(lt::Status status, const char* call) const;
};

/// What a call of the C interface made, ended with its own function.
template <typename Object>
class LtOwner {
 public:
  explicit LtOwner(lt::Status (*destroy)(Object)) : destroy_(destroy) {}
  ~LtOwner() {
    if (object_ != nullptr) static_cast<void>(destroy_(object_));
  }
  LtOwner(const LtOwner&) = delete;
  LtOwner& operator=(const LtOwner&) = delete;
  LtOwner(LtOwner&&) = delete;
  LtOwner& operator=(LtOwner&&) = delete;

  Object get() const { return object_; }
  Object* to_fill() { return &object_; }

 private:
  lt::Status (*destroy_)(Object);
  Object object_ = nullptr;
};

/// cuBLASLt on the current CUDA context, and the device memory it may work in.
class CublasSession {
 public:
  CublasSession(const CublasLt& library, std::uint64_t workspace, std::size_t workspace_bytes);

  const CublasLt& library() const { return library_; }
  lt::Handle handle() const { return handle_.get(); }
  void* workspace() const { return workspace_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  const CublasLt& library_;
  LtOwner<lt::Handle> handle_;
  void* workspace_;
  std::size_t workspace_bytes_;
};

/// A problem of the library as cuBLASLt does it, without copies. Row-major matrices are column-major ones transposed,
/// so it computes out^T = op(b)^T op(a)^T with the operands swapped.
class CublasProduct {
 public:
  static constexpr int most_heuristics = 8;

  CublasProduct(const CublasSession& session, const mgemm_problem& problem);

  /// How many ways of doing it cuBLASLt proposes, the one it would take first.
  std::size_t heuristics() const { return heuristics_.size(); }
  /// Enqueues the product, done in one of these ways.
  void run(std::size_t heuristic, const mgemm_operands& operands, cuda::Stream stream) const;

 private:
  void ask_for_heuristics();

  const CublasSession& session_;
  float alpha_, beta_;
  LtOwner<lt::Matmul> matmul_;
  LtOwner<lt::Layout> first_, second_, out_;
  std::vector<lt::Heuristic> heuristics_;
};

}  // namespace mgemm::cli::bench
