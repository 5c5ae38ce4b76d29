#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {

enum class Op : std::int32_t { nn = MGEMM_OP_NN, tn = MGEMM_OP_TN, nt = MGEMM_OP_NT };
/// What an operand's elements are, and how they are multiplied: tf32 is stored as f32 is.
enum class Type : std::int32_t {
  f32 = MGEMM_TYPE_F32,
  bf16 = MGEMM_TYPE_BF16,
  f16 = MGEMM_TYPE_F16,
  tf32 = MGEMM_TYPE_TF32
};

constexpr bool is_half(Type type) { return type == Type::bf16 || type == Type::f16; }
constexpr std::int64_t size_of(Type type) { return is_half(type) ? 2 : 4; }

/// Names as in problem strings and kernel symbols.
constexpr std::array<std::pair<Op, std::string_view>, 3> op_names{{{Op::nn, "nn"}, {Op::tn, "tn"}, {Op::nt, "nt"}}};
constexpr std::array<std::pair<Type, std::string_view>, 4> type_names{
    {{Type::f32, "f32"}, {Type::bf16, "bf16"}, {Type::f16, "f16"}, {Type::tf32, "tf32"}}};

template <typename Value, size_t count>
constexpr std::string_view name_in(const std::array<std::pair<Value, std::string_view>, count>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "?";
}
constexpr std::string_view name_of(Op op) { return name_in(op_names, op); }
constexpr std::string_view name_of(Type type) { return name_in(type_names, type); }

constexpr float default_beta(Op op) { return op == Op::tn ? 1.0F : 0.0F; }
/// Weight gradients are summed up in f32, whatever they are made of.
constexpr Type default_out_type(Op op, Type in) { return is_half(in) && op != Op::tn ? in : Type::f32; }

/// A checked problem: every field is valid and every leading dimension is written out.
struct Problem {
  Op op = Op::nn;
  Type in_type = Type::f32;
  Type out_type = Type::f32;
  bool bias = false;
  std::int64_t m = 0, k = 0, n = 0;
  std::int64_t lda = 0, ldb = 0, ldout = 0;
  float alpha = 1, beta = 0;
};

/// A row-major matrix as it lies in memory; sizes in elements.
struct Layout {
  std::int64_t rows = 0, columns = 0, leading = 0;
  Type type = Type::f32;
};

/// A matrix as the product sees it: element (i, j) lies at i * row + j * column.
struct Strides {
  std::int64_t row = 0, column = 0;
};

constexpr std::int64_t output_rows(const Problem& p) { return p.op == Op::tn ? p.k : p.m; }
constexpr std::int64_t output_columns(const Problem& p) { return p.op == Op::nt ? p.k : p.n; }
constexpr std::int64_t reduction(const Problem& p) { return p.op == Op::nn ? p.k : p.op == Op::tn ? p.m : p.n; }

constexpr Layout layout_a(const Problem& p) { return {p.m, p.op == Op::nt ? p.n : p.k, p.lda, p.in_type}; }
constexpr Layout layout_b(const Problem& p) {
  return p.op == Op::tn ? Layout{p.m, p.n, p.ldb, p.in_type} : Layout{p.k, p.n, p.ldb, p.in_type};
}
constexpr Layout layout_out(const Problem& p) { return {output_rows(p), output_columns(p), p.ldout, p.out_type}; }
constexpr Layout layout_bias(const Problem& p) {
  return {p.bias ? 1 : 0, output_columns(p), output_columns(p), Type::f32};
}

/// a as (output row, reduction step) and b as (reduction step, output column), in elements.
constexpr Strides strides_a(const Problem& p) { return p.op == Op::tn ? Strides{1, p.lda} : Strides{p.lda, 1}; }
constexpr Strides strides_b(const Problem& p) { return p.op == Op::nt ? Strides{1, p.ldb} : Strides{p.ldb, 1}; }

/// An operand: its name in messages and how it lies in memory.
struct Operand {
  const char* name = nullptr;
  Layout layout;
};
/// a, b and bias as the product reads them: with a reduction of length 0, a and b span nothing.
std::array<Operand, 3> inputs_of(const Problem& p);
/// Their addresses, in the same order.
inline std::array<std::uint64_t, 3> input_addresses(const mgemm_operands& operands) {
  return {operands.a, operands.b, operands.bias};
}

/// Bytes from the first to behind the last element, 0 if there is none. Checked to be below 2^63 by check_problem.
std::int64_t span_bytes(const Layout& layout);

/// The C structure as a Problem, or an Error that names field, value and rule.
Problem check_problem(const mgemm_problem& problem);
mgemm_problem to_c(const Problem& problem);

/// The problem string, see mgemm_problem_to_string.
std::string to_string(const Problem& problem);
Problem problem_from_string(std::string_view text);

}  // namespace mgemm
