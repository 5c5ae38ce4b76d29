#include "numeric/problem.hpp"

#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace mgemm {
namespace {

constexpr std::int64_t max_extent = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t max_leading = std::int64_t{1} << 48;

Op checked_op(std::int32_t op) {
  if (op < MGEMM_OP_NN || op > MGEMM_OP_NT) {
    invalid("problem.op is {}; it must be MGEMM_OP_NN (1), MGEMM_OP_TN (2) or MGEMM_OP_NT (3)", op);
  }
  return static_cast<Op>(op);
}

Type checked_type(const char* field, std::int32_t type) {
  if (type < MGEMM_TYPE_F32 || type > MGEMM_TYPE_TF32) {
    invalid(
        "problem.{} is {}; it must be MGEMM_TYPE_F32 (1), MGEMM_TYPE_BF16 (2), MGEMM_TYPE_F16 (3) or MGEMM_TYPE_TF32 "
        "(4)",
        field, type);
  }
  return static_cast<Type>(type);
}

void check_out_type(const Problem& p) {
  const Type usual = default_out_type(p.op, p.in_type);
  if (p.out_type == Type::f32 || p.out_type == usual) return;
  if (usual == Type::f32) {
    invalid("problem.out_type is {} with op {} of {}; it must be f32", name_of(p.out_type), name_of(p.op),
            name_of(p.in_type));
  }
  invalid("problem.out_type is {} with op {} of {}; it must be {} or f32", name_of(p.out_type), name_of(p.op),
          name_of(p.in_type), name_of(usual));
}

std::int64_t checked_extent(const char* field, std::int64_t value) {
  if (value < 0 || value > max_extent) invalid("problem.{} is {}; it must be in 0 .. {}", field, value, max_extent);
  return value;
}

std::int64_t resolved_leading(const char* field, std::int64_t value, std::int64_t row_length) {
  if (value == 0) return row_length;
  if (value < row_length || value > max_leading) {
    invalid("problem.{} is {}; it must be 0 (contiguous) or in {} (the row length) .. 2^48", field, value, row_length);
  }
  return value;
}

/// Bytes spanned, or nothing if that is 2^63 or more.
std::optional<std::int64_t> checked_span(const Layout& layout) {
  if (layout.rows == 0 || layout.columns == 0) return 0;
  const auto before_last = checked_mul(layout.rows - 1, layout.leading);
  const auto elements = before_last ? checked_add(*before_last, layout.columns) : std::nullopt;
  return elements ? checked_mul(*elements, size_of(layout.type)) : std::nullopt;
}

void check_span(const char* name, const Layout& layout) {
  if (!checked_span(layout)) {
    invalid("operand {} with {} rows of {} elements, {} apart, spans 2^63 bytes or more", name, layout.rows,
            layout.columns, layout.leading);
  }
}

}  // namespace

std::array<Operand, 3> inputs_of(const Problem& p) {
  return {{{"a", layout_a(p)}, {"b", layout_b(p)}, {"bias", layout_bias(p)}}};
}

std::int64_t span_bytes(const Layout& layout) { return checked_span(layout).value_or(0); }

Problem check_problem(const mgemm_problem& c) {
  Problem p;
  p.op = checked_op(c.op);
  p.in_type = checked_type("in_type", c.in_type);
  p.out_type = checked_type("out_type", c.out_type);
  check_out_type(p);
  if (c.bias != 0 && c.bias != 1) invalid("problem.bias is {}; it must be 0 or 1", c.bias);
  p.bias = c.bias == 1;
  if (p.bias && p.op != Op::nn) invalid("problem.bias is 1 with op {}; only nn takes a bias", name_of(p.op));
  p.m = checked_extent("m", c.m);
  p.k = checked_extent("k", c.k);
  p.n = checked_extent("n", c.n);
  p.lda = resolved_leading("lda", c.lda, layout_a(p).columns);
  p.ldb = resolved_leading("ldb", c.ldb, layout_b(p).columns);
  p.ldout = resolved_leading("ldout", c.ldout, output_columns(p));
  p.alpha = c.alpha;
  p.beta = c.beta;
  for (const std::uint64_t word : c.reserved) {
    if (word != 0) invalid("problem.reserved must be zero");
  }
  for (const Operand& input : inputs_of(p)) check_span(input.name, input.layout);
  check_span("out", layout_out(p));
  return p;
}

mgemm_problem to_c(const Problem& p) {
  mgemm_problem c{};
  c.struct_size = sizeof c;
  c.op = static_cast<std::int32_t>(p.op);
  c.in_type = static_cast<std::int32_t>(p.in_type);
  c.out_type = static_cast<std::int32_t>(p.out_type);
  c.bias = p.bias ? 1 : 0;
  c.m = p.m;
  c.k = p.k;
  c.n = p.n;
  c.lda = p.lda;
  c.ldb = p.ldb;
  c.ldout = p.ldout;
  c.alpha = p.alpha;
  c.beta = p.beta;
  return c;
}

}  // namespace mgemm
