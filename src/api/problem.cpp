#include "api/boundary.hpp"
#include "numeric/evaluator.hpp"
#include "numeric/operands.hpp"

using namespace mgemm;

mgemm_status mgemm_problem_init(mgemm_problem* problem, size_t size, int32_t op) noexcept {
  return guarded([&] {
    mgemm_problem made{};
    made.op = op;
    made.in_type = MGEMM_TYPE_F32;
    made.out_type = MGEMM_TYPE_F32;
    made.alpha = 1.0F;
    check_problem(made);  // the op
    made.beta = default_beta(static_cast<Op>(op));
    write_initial(problem, "problem", size, made);
  });
}

mgemm_status mgemm_problem_to_string(const mgemm_problem* problem, char* buffer, size_t capacity,
                                     size_t* needed) noexcept {
  return guarded(
      [&] { give_string(to_string(check_problem(read_struct(problem, "problem"))), buffer, capacity, needed); });
}

mgemm_status mgemm_problem_from_string(mgemm_problem* problem, size_t size, const char* text) noexcept {
  return guarded([&] {
    require_not_null(text, "text");
    write_initial(problem, "problem", size, to_c(problem_from_string(text)));
  });
}

mgemm_status mgemm_evaluate(int32_t profile, const mgemm_problem* problem, const mgemm_operands* operands,
                            int64_t count, const int64_t* rows, const int64_t* columns, float* values) noexcept {
  return guarded([&] {
    const TensorSet& set = set_of_profile("profile", profile);
    const Problem checked = check_problem(read_struct(problem, "problem"));
    const mgemm_operands known = read_struct(operands, "operands");
    if (count < 0) invalid("count is {}; it must be 0 or more", count);
    if (count == 0) return;
    require_not_null(rows, "rows");
    require_not_null(columns, "columns");
    require_not_null(values, "values");
    const auto length = static_cast<size_t>(count);
    const std::span<const std::int64_t> row_span(rows, length);
    const std::span<const std::int64_t> column_span(columns, length);
    for (size_t i = 0; i < length; ++i) {
      if (row_span[i] < 0 || row_span[i] >= output_rows(checked)) {
        invalid("rows[{}] is {}; the output has {} rows", i, row_span[i], output_rows(checked));
      }
      if (column_span[i] < 0 || column_span[i] >= output_columns(checked)) {
        invalid("columns[{}] is {}; the output has {} columns", i, column_span[i], output_columns(checked));
      }
    }
    check_inputs(checked, known);
    if (checked.beta != 0 || known.out != 0) check_output(checked, known);
    evaluate_elements(evaluator_input(checked, contract_of(checked, set), known), row_span, column_span,
                      std::span(values, length), 0);
  });
}
