#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "numeric/contract.hpp"

namespace mgemm {

/// The instruction sets the evaluator's inner loops exist for. All give the same bits.
enum class Isa : std::int32_t { generic, avx2, avx512 };

const char* name_of(Isa isa);
/// Whether this build, processor and operating system have it.
bool is_supported(Isa isa);
constexpr const char* simd_variable = "MAMBA_GEMM_SIMD";
/// What is wrong with a value of that variable; "" if it names one that is supported.
std::string simd_objection(std::string_view value);
/// The fastest that is supported, or a lesser one if MAMBA_GEMM_SIMD names it (generic, avx2, avx512). Asked once a
/// process.
Isa best_isa();

/// One product on host memory. Strides in elements; any stride is allowed, negative ones included.
struct EvaluatorInput {
  Type in_type = Type::f32, out_type = Type::f32;
  Arithmetic arithmetic = Arithmetic::fma32;
  std::int64_t rows = 0, columns = 0, reduction = 0;
  const void* a = nullptr;  // element (i, r) at a[i * a_strides.row + r * a_strides.column]
  Strides a_strides{};
  const void* b = nullptr;  // element (r, j) at b[r * b_strides.row + j * b_strides.column]
  Strides b_strides{};
  const float* bias = nullptr;  // one per column, or nullptr
  void* out = nullptr;          // element (i, j) at out[i * out_leading + j]; read only if beta is not 0
  std::int64_t out_leading = 0;
  float alpha = 1, beta = 0;
  // The contract's for the whole problem, also when only a part of its rows or columns is given.
  Slices slices{};
  Fold fold = Fold::f32;
};

/// The product of a checked problem as evaluator input; addresses are host addresses.
EvaluatorInput evaluator_input(const Problem& problem, const Contract& contract, const mgemm_operands& operands);
/// The same without operands: types, sizes, scalars and what the contract says, for operands laid out otherwise.
EvaluatorInput evaluator_input(const Problem& problem, const Contract& contract);

/// Computes the whole product on up to `threads` threads (0: all the process may run on). Owns the floating-point
/// environment while it runs. Safe to call from several threads. Throws MGEMM_UNSUPPORTED if the instruction set is
/// not.
void evaluate(const EvaluatorInput& input, Isa isa, int threads);

/// What element (row, column) must be, by code that shares nothing with evaluate() but the contract and the conversions
/// of elements: one plain loop. A half as the f32 of the same value, every NaN as 0x7fffffff.
float evaluate_element(const EvaluatorInput& input, std::int64_t row, std::int64_t column);

/// evaluate_element() for many, values[i] for (rows[i], columns[i]), on up to `threads` threads.
void evaluate_elements(const EvaluatorInput& input, std::span<const std::int64_t> rows,
                       std::span<const std::int64_t> columns, std::span<float> values, int threads);

}  // namespace mgemm
