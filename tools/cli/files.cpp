#include "files.hpp"

#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "npy.hpp"
#include "npy_header.hpp"

namespace mgemm::cli {
namespace {

float parse_float(const char* option, const std::string& text) {
  float value = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) bad_input("{} {}: out of the range of f32", option, text);
  if (result.ec != std::errc{} || result.ptr != end) bad_input("{} {}: not a number", option, text);
  return value;
}

std::int32_t parse_op(const std::string& text) {
  constexpr std::array<std::pair<const char*, std::int32_t>, 3> names{
      {{"nn", MGEMM_OP_NN}, {"tn", MGEMM_OP_TN}, {"nt", MGEMM_OP_NT}}};
  if (text.empty()) return MGEMM_OP_NN;
  for (const auto& [name, op] : names)
    if (text == name) return op;
  bad_input("--op {}: must be nn, tn or nt", text);
}

/// Before any work: the output must not be an input, under whatever name, and must be a file that can be made.
void check_output_path(const FileOptions& options) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const std::string& input : {options.x, options.w, options.bias, options.old}) {
    if (!input.empty() && fs::equivalent(input, options.out, ignored))
      bad_input("--out {}: is the input {}; it would be overwritten", options.out, input);
  }
  const fs::path out(options.out);
  if (fs::exists(out, ignored) && !fs::is_regular_file(out, ignored))
    bad_input("--out {}: exists and is not a regular file", options.out);
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) bad_input("--out {}: {} is not a folder", options.out, folder.string());
}

void require_options(const FileOptions& options) {
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string&>{"--x", options.x}, {"--w", options.w}, {"--out", options.out}}) {
    if (value.empty()) bad_input("{} is missing: a product of files needs --x, --w and --out", name);
  }
}

/// Two sizes that must be one, named as the files' readers know them.
void require_equal(const char* rule, const FileOptions& options, const NpyArray& x, const NpyArray& w,
                   std::int64_t of_x, std::int64_t of_w) {
  if (of_x != of_w)
    bad_input("{} (f32, {}) and {} (f32, {}) do not fit each other: {}", options.x, shape_text(x.shape), options.w,
              shape_text(w.shape), rule);
}

/// (M, K, N) from the shapes of a and b, by the table of the public header.
mgemm_problem problem_from_shapes(const FileOptions& options, const NpyArray& x, const NpyArray& w) {
  const std::int32_t op = parse_op(options.op);
  const std::int64_t x0 = x.shape[0], x1 = x.shape[1], w0 = w.shape[0], w1 = w.shape[1];
  switch (op) {
    case MGEMM_OP_TN:
      require_equal("tn needs equal row counts, X [M,K] and dY [M,N]", options, x, w, x0, w0);
      return mamba_gemm::make_problem(op, x0, x1, w1);
    case MGEMM_OP_NT:
      require_equal("nt needs equal column counts, dY [M,N] and W [K,N]", options, x, w, x1, w1);
      return mamba_gemm::make_problem(op, x0, w0, x1);
    default:
      require_equal("nn needs as many columns in X [M,K] as rows in W [K,N]", options, x, w, x1, w0);
      return mamba_gemm::make_problem(op, x0, x1, w1);
  }
}

Array read_bias(const FileOptions& options, const mgemm_problem& problem) {
  NpyArray bias = read_npy(options.bias, 1);
  if (problem.op != MGEMM_OP_NN) bad_input("--bias: only the op nn has a bias");
  if (bias.shape[0] != problem.n)
    bad_input("{} (f32, {}): the bias must have shape {}, one for each column of the output", options.bias,
              shape_text(bias.shape), shape_text(std::array{problem.n}));
  return Array(bias.values);
}

Array read_old(const FileOptions& options, const Matrix& out) {
  NpyArray old = read_npy(options.old, 2);
  const std::array wanted{out.rows, out.columns};
  if (old.shape[0] != out.rows || old.shape[1] != out.columns)
    bad_input("{} (f32, {}): the old output must have shape {}", options.old, shape_text(old.shape),
              shape_text(wanted));
  return Array(old.values);
}

}  // namespace

bool FileOptions::any() const {
  for (const std::string& option : {x, w, bias, old, out, op, alpha, beta})
    if (!option.empty()) return true;
  return false;
}

HostOperands read_operands(const FileOptions& options) {
  require_options(options);
  check_output_path(options);
  NpyArray x = read_npy(options.x, 2);
  NpyArray w = read_npy(options.w, 2);
  HostOperands operands;
  mgemm_problem& problem = operands.problem;
  problem = problem_from_shapes(options, x, w);
  problem.bias = options.bias.empty() ? 0 : 1;
  // Unlike the interface's default, which is by op: without an old output there is nothing to accumulate to.
  problem.beta = options.old.empty() ? 0.0F : 1.0F;
  if (!options.alpha.empty()) problem.alpha = parse_float("--alpha", options.alpha);
  if (!options.beta.empty()) problem.beta = parse_float("--beta", options.beta);
  if (problem.beta != 0 && options.old.empty()) bad_input("--beta {}: needs the old output, --old", options.beta);
  if (problem.beta == 0 && !options.old.empty()) bad_input("--old {}: would not be read, as beta is 0", options.old);
  if (problem.bias != 0) operands.bias = read_bias(options, problem);
  require_valid(problem);

  operands.layouts = layouts_of(problem);
  require_memory(problem, operands.layouts);
  if (!options.old.empty()) {
    operands.old = read_old(options, operands.layouts.out);
  } else {
    operands.old = Array(MGEMM_TYPE_F32, operands.layouts.out.with_gaps());
  }
  operands.a = Array(x.values);
  x.values = {};
  operands.b = Array(w.values);
  return operands;
}

void write_output(const FileOptions& options, const HostOperands& operands, const Array& values) {
  const Matrix& out = operands.layouts.out;
  write_npy(options.out, std::array{out.rows, out.columns}, values.floats());
}

}  // namespace mgemm::cli
