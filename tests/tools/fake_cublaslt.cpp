// A cuBLASLt over host memory, as a file: it multiplies column-major matrices as that interface is documented, so that
// what is asked of it can be checked without a GPU. It refuses what the bench must not ask for.
#include <cstddef>
#include <cstdint>

#include "bench/cublaslt_abi.hpp"
#include "mamba_gemm/mamba_gemm.hpp"

using namespace mgemm::cli::bench;

namespace mgemm::cli::bench::lt {

struct HandleTag {};
struct MatmulTag {
  Compute compute;
  bool transpose_a, transpose_b;
};
struct LayoutTag {
  DataType type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct PreferenceTag {
  std::size_t workspace;
};

}  // namespace mgemm::cli::bench::lt

namespace {

constexpr auto invalid = static_cast<lt::Status>(7);

std::int32_t type_of(lt::DataType type) {
  return type == lt::DataType::bf16 ? MGEMM_TYPE_BF16 : type == lt::DataType::f16 ? MGEMM_TYPE_F16 : MGEMM_TYPE_F32;
}

float load(const void* data, const lt::LayoutTag& layout, std::uint64_t row, std::uint64_t column) {
  const std::size_t at = column * static_cast<std::uint64_t>(layout.leading) + row;
  if (layout.type == lt::DataType::f32) return static_cast<const float*>(data)[at];
  return mamba_gemm::from_half(type_of(layout.type), static_cast<const std::uint16_t*>(data)[at]);
}

void store(void* data, const lt::LayoutTag& layout, std::uint64_t row, std::uint64_t column, float value) {
  const std::size_t at = column * static_cast<std::uint64_t>(layout.leading) + row;
  if (layout.type == lt::DataType::f32) {
    static_cast<float*>(data)[at] = value;
  } else {
    static_cast<std::uint16_t*>(data)[at] = mamba_gemm::to_half(type_of(layout.type), value);
  }
}

/// Whether op(a) op(b) has d's size.
bool fit(const lt::MatmulTag& matmul, const lt::LayoutTag& a, const lt::LayoutTag& b, const lt::LayoutTag& d) {
  const std::uint64_t rows = matmul.transpose_a ? a.columns : a.rows;
  const std::uint64_t steps = matmul.transpose_a ? a.rows : a.columns;
  const std::uint64_t b_steps = matmul.transpose_b ? b.columns : b.rows;
  const std::uint64_t columns = matmul.transpose_b ? b.rows : b.columns;
  return rows == d.rows && columns == d.columns && steps == b_steps;
}

template <typename Object>
lt::Status destroyed(Object* object) {
  delete object;
  return lt::Status::success;
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return 130002; }
const char* cublasLtGetStatusName(lt::Status /*status*/) { return "CUBLAS_STATUS_FAKE"; }
const char* cublasLtGetStatusString(lt::Status /*status*/) { return "the fake refuses"; }
lt::Status cublasLtCreate(lt::Handle* handle) {
  *handle = new lt::HandleTag;
  return lt::Status::success;
}
lt::Status cublasLtDestroy(lt::Handle handle) { return destroyed(handle); }
lt::Status cublasLtMatmulDescCreate(lt::Matmul* matmul, lt::Compute compute, lt::DataType scale) {
  if (scale != lt::DataType::f32) return invalid;
  *matmul = new lt::MatmulTag{compute, false, false};
  return lt::Status::success;
}
lt::Status cublasLtMatmulDescDestroy(lt::Matmul matmul) { return destroyed(matmul); }
lt::Status cublasLtMatmulDescSetAttribute(lt::Matmul matmul, lt::MatmulAttribute attribute, const void* value,
                                          std::size_t size) {
  if (size != sizeof(std::int32_t)) return invalid;
  const bool transposed = *static_cast<const lt::Operation*>(value) == lt::Operation::transpose;
  (attribute == lt::MatmulAttribute::transpose_a ? matmul->transpose_a : matmul->transpose_b) = transposed;
  return lt::Status::success;
}
lt::Status cublasLtMatrixLayoutCreate(lt::Layout* layout, lt::DataType type, std::uint64_t rows, std::uint64_t columns,
                                      std::int64_t leading) {
  if (static_cast<std::uint64_t>(leading) < rows) return invalid;
  *layout = new lt::LayoutTag{type, rows, columns, leading};
  return lt::Status::success;
}
lt::Status cublasLtMatrixLayoutDestroy(lt::Layout layout) { return destroyed(layout); }
lt::Status cublasLtMatmulPreferenceCreate(lt::Preference* preference) {
  *preference = new lt::PreferenceTag{0};
  return lt::Status::success;
}
lt::Status cublasLtMatmulPreferenceDestroy(lt::Preference preference) { return destroyed(preference); }
lt::Status cublasLtMatmulPreferenceSetAttribute(lt::Preference preference, lt::PreferenceAttribute /*attribute*/,
                                                const void* value, std::size_t size) {
  if (size != sizeof(std::size_t)) return invalid;
  preference->workspace = *static_cast<const std::size_t*>(value);
  return lt::Status::success;
}
/// Two ways, and between them one that is not to be had.
lt::Status cublasLtMatmulAlgoGetHeuristic(lt::Handle /*handle*/, lt::Matmul matmul, lt::Layout a, lt::Layout b,
                                          lt::Layout /*c*/, lt::Layout d, lt::Preference preference, int wanted,
                                          lt::Heuristic* results, int* found) {
  if (!fit(*matmul, *a, *b, *d) || wanted < 3 || preference->workspace == 0) return invalid;
  for (int i = 0; i < 3; ++i) {
    results[i] = {};
    results[i].algorithm.data[0] = static_cast<std::uint64_t>(i) + 1;
    results[i].state = i == 1 ? invalid : lt::Status::success;
  }
  *found = 3;
  return lt::Status::success;
}
lt::Status cublasLtMatmul(lt::Handle /*handle*/, lt::Matmul matmul, const void* alpha, const void* a,
                          lt::Layout a_layout, const void* b, lt::Layout b_layout, const void* beta, const void* c,
                          lt::Layout /*c_layout*/, void* d, lt::Layout d_layout, const lt::Algorithm* algorithm,
                          void* /*workspace*/, std::size_t /*workspace_bytes*/, mgemm::cuda::Stream /*stream*/) {
  if (!fit(*matmul, *a_layout, *b_layout, *d_layout) || algorithm->data[0] % 2 == 0) return invalid;
  const std::uint64_t steps = matmul->transpose_a ? a_layout->rows : a_layout->columns;
  const float factor = *static_cast<const float*>(alpha);
  const float old_factor = *static_cast<const float*>(beta);
  for (std::uint64_t column = 0; column < d_layout->columns; ++column) {
    for (std::uint64_t row = 0; row < d_layout->rows; ++row) {
      float sum = 0;
      for (std::uint64_t i = 0; i < steps; ++i)
        sum += (matmul->transpose_a ? load(a, *a_layout, i, row) : load(a, *a_layout, row, i)) *
               (matmul->transpose_b ? load(b, *b_layout, column, i) : load(b, *b_layout, i, column));
      const float old = old_factor == 0 ? 0 : old_factor * load(c, *d_layout, row, column);
      store(d, *d_layout, row, column, factor * sum + old);
    }
  }
  return lt::Status::success;
}

}  // extern "C"
