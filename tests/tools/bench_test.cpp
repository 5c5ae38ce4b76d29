// The parts of `mamba-gemm bench` that need no GPU: suites, statistics, what a cell does, comparison.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "array.hpp"
#include "bench/command_line.hpp"
#include "bench/data.hpp"
#include "bench/product.hpp"
#include "bench/sizes.hpp"
#include "bench/suites.hpp"
#include "failure.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "statistics.hpp"
#include "support/test.hpp"

using namespace mgemm::cli;
using namespace mgemm::cli::bench;

namespace {

bool near(double value, double expected, double relative = 1e-9) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

std::vector<std::string> expanded(const std::string& name, const Filter& filter = {}) {
  return cells_of({name}, filter);
}

bool holds(const std::vector<std::string>& cells, const std::string& cell) {
  return std::ranges::find(cells, cell) != cells.end();
}

std::string refusal(const std::vector<std::string>& words, const Filter& filter = {}) {
  try {
    cells_of(words, filter);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

std::string filter_refusal(const std::string& types, const std::string& ops, const std::string& rows) {
  try {
    parse_filter(types, ops, rows);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// Catches a suite with a string the library refuses or writes otherwise, so that it could not be found in reports.
TEST_CASE("every suite expands to problem strings, each once") {
  for (const Suite& suite : suites()) {
    const std::vector<std::string> cells = expand(suite, {});
    CAPTURE(suite.name);
    CHECK_FALSE(cells.empty());
    CHECK(std::set<std::string>(cells.begin(), cells.end()).size() == cells.size());
    for (const std::string& cell : cells) CHECK(mamba_gemm::to_string(mamba_gemm::parse_problem(cell)) == cell);
  }
}

// Catches a layer, a row count, an op or a type left out or too many.
TEST_CASE("suites have the cells they are documented with") {
  const std::vector<std::pair<std::string, std::size_t>> counts{{"mamba", 8 * 3 * 3 * 2}, {"tf32", 8 * 3 * 3},
                                                                {"square", 4 * 3 * 2},    {"decode", 9 * 4},
                                                                {"train", 2 * 3 * 2},     {"head", 4}};
  CHECK(counts.size() == suites().size());
  for (const auto& [name, count] : counts) {
    CAPTURE(name);
    CHECK(expanded(name).size() == count);
  }
  CHECK(holds(expanded("mamba"), "nt:f16:8192x5120x192"));
  CHECK(holds(expanded("square"), "tn:tf32:4096x4096x4096"));
  CHECK(holds(expanded("decode"), "nn:bf16:1x768x50280"));
  CHECK(expanded("head") == std::vector<std::string>{"nn:bf16:2048x768x50280", "nn:bf16:2048x768x50280:out=f32",
                                                     "nn:f16:2048x768x50280", "nn:f16:2048x768x50280:out=f32"});
}

// Catches a projection that is added to a model and not to the rows of one token.
TEST_CASE("decode has the layers of mamba and of head") {
  const auto widths = [](const std::string& name) {
    std::set<std::pair<std::int64_t, std::int64_t>> found;
    for (const std::string& cell : expanded(name, {.types = {"bf16"}, .ops = {"nn"}, .rows = {}})) {
      const mgemm_problem problem = mamba_gemm::parse_problem(cell);
      found.emplace(problem.k, problem.n);
    }
    return found;
  };
  std::set<std::pair<std::int64_t, std::int64_t>> together = widths("mamba");
  together.merge(widths("head"));
  CHECK(widths("decode") == together);
}

// Catches weight gradients that do not accumulate into f32, which is what they are compared with cuBLAS for.
TEST_CASE("weight gradients accumulate into f32") {
  for (const std::string& cell : expanded("train", {.types = {}, .ops = {"tn"}, .rows = {}})) {
    const mgemm_problem problem = mamba_gemm::parse_problem(cell);
    CHECK(problem.out_type == MGEMM_TYPE_F32);
    CHECK(problem.beta == 1);
  }
}

// Catches a filter that lets too much through, and one that touches a problem string.
TEST_CASE("filters choose from suites only") {
  const Filter filter = parse_filter("bf16", "nn,tn", "256,8192");
  const std::vector<std::string> cells = cells_of({"mamba", "nt:f32:1x2x3"}, filter);
  CHECK(cells.size() == 8 * 2 * 2 + 1);
  CHECK(cells.front() == "nn:bf16:256x768x3072");
  CHECK(cells.back() == "nt:f32:1x2x3");
  CHECK(cells_of({"train", "nn:bf16:2048x2560x10240", "train"}, {}).size() == 12);
}

// Catches a message that does not say which word is wrong, or what there is.
TEST_CASE("words that name nothing are refused") {
  CHECK(refusal({"mamab"}) ==
        "'mamab' is neither a suite (mamba, tf32, square, decode, train, head) nor a problem string such as "
        "nn:bf16:2048x2560x10240; did you mean mamba?");
  CHECK(refusal({}).starts_with("bench needs a suite or a problem string; suites are mamba, tf32"));
  CHECK(refusal({"head"}, {.types = {"tf32"}, .ops = {}, .rows = {}}) ==
        "--type, --op and --rows leave nothing of head");
  CHECK(refusal({"nn:bf16:1x2x3"}, {.types = {"bf16"}, .ops = {}, .rows = {}}) ==
        "--type, --op and --rows choose from a suite, and none is named");
  CHECK(filter_refusal("bf61", "", "") == "--type bf61: 'bf61' must be one of bf16, f16, tf32, f32");
  CHECK(filter_refusal("", "nn,", "") == "--op nn,: '' must be one of nn, nt, tn");
  CHECK(filter_refusal("", "", "1,0") == "--rows 1,0: '0' must be a number of rows, at least 1");
  CHECK(filter_refusal("", "", "1x") == "--rows 1x: '1x' must be a number of rows, at least 1");
}

// Catches a mean in place of the median, percentiles of unsorted values, and a spread that is not relative.
TEST_CASE("statistics") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 100}) == 3.5);
  CHECK(median({}) == 0);
  CHECK(quantile({5, 1, 4, 2, 3}, 0.25) == 2);
  CHECK(quantile({5, 1, 4, 2, 3}, 0.75) == 4);
  CHECK(quantile({1, 2}, 0.25) == 1.25);
  CHECK(quantile({7}, 0.75) == 7);
  CHECK(quantile({1, 2, 3}, 1) == 3);
  CHECK(near(mgemm::cli::spread({5, 1, 4, 2, 3}), 2.0 / 3));
  CHECK(mgemm::cli::spread({}) == 0);
  const std::array ratios{0.5, 2.0, 8.0};
  CHECK(near(geometric_mean(ratios), 2));
  CHECK(geometric_mean({}) == 0);
}

// Catches flops that count a multiply-add once, bytes of the wrong operand, and an old output that is not read.
TEST_CASE("what a cell does") {
  const auto problem = [](const char* text) { return mamba_gemm::parse_problem(text); };
  CHECK(flops_of(problem("nn:bf16:2x3x5")) == 60);
  CHECK(bytes_of(problem("nn:bf16:2x3x5")) == 2 * (6 + 15 + 10));
  CHECK(bytes_of(problem("nn:bf16:2x3x5:out=f32")) == 2 * (6 + 15) + 4 * 10);
  CHECK(bytes_of(problem("tn:bf16:2x3x5")) == 2 * (6 + 10) + 4 * 15 * 2);
  CHECK(bytes_of(problem("nt:f16:2x3x5")) == 2 * (10 + 15 + 6));
  CHECK(bytes_of(problem("nn:tf32:2x3x5")) == 4 * (6 + 15 + 10));
}

// Catches a label that hides what sets two cells of a section apart.
TEST_CASE("names of cells") {
  const ProblemName name = name_of("nn:bf16:2048x768x50280:out=f32:alpha=2");
  CHECK(name.op == "nn");
  CHECK(name.type == "bf16");
  CHECK(name.label == "2048,768,50280 out=f32 alpha=2");
  CHECK(name_of("tn:tf32:1x2x3").label == "1,2,3");
  CHECK(name_of("").label.empty());
}

// Catches data of another seed or range, or whose rows repeat.
TEST_CASE("the pool is uniform between -1 and 1") {
  const Pool pool(MGEMM_TYPE_F32, 7);
  const auto* const values = reinterpret_cast<const float*>(pool.bytes().data());
  const std::size_t count = pool.bytes().size() / sizeof(float);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += values[i];
    squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  CHECK(*std::min_element(values, values + count) >= -1);
  CHECK(*std::max_element(values, values + count) < 1);
  CHECK(std::fabs(sum / static_cast<double>(count)) < 0.002);
  CHECK(near(squares / static_cast<double>(count), 1.0 / 3, 0.01));
  const Pool again(MGEMM_TYPE_F32, 7);
  CHECK(std::ranges::equal(pool.bytes(), again.bytes()));
  const Pool other(MGEMM_TYPE_F32, 8);
  CHECK_FALSE(std::ranges::equal(pool.bytes(), other.bytes()));
  CHECK(Pool(MGEMM_TYPE_BF16, 7).bytes().size() == count * 2);
}

// Catches a wrong output that is taken for right: a transposed one, one with a NaN, one in another type, and a gap that
// counts.
TEST_CASE("the relative error between two outputs") {
  const std::vector<float> expected{3, 4, 99, 0, 0, 99};
  const Matrix matrix{2, 2, 3};
  const auto error = [&](std::vector<float> got, const std::vector<float>& wanted) {
    return relative_error(MGEMM_TYPE_F32, matrix, std::as_bytes(std::span(got)), std::as_bytes(std::span(wanted)));
  };
  CHECK(error(expected, expected) == 0);
  CHECK(error({3, 4, -1, 0, 0, -2}, expected) == 0);
  CHECK(near(error({3, 0, 99, 4, 0, 99}, expected), std::sqrt(32.0) / 5));
  CHECK(std::isnan(error({std::numeric_limits<float>::quiet_NaN(), 4, 99, 0, 0, 99}, expected)));
  CHECK(std::isinf(error(expected, {0, 0, 0, 0, 0, 0})));
  for (const std::int32_t type : {MGEMM_TYPE_BF16, MGEMM_TYPE_F16}) {
    Array got(type, 2);
    Array wanted(type, 2);
    got.set(0, 3);
    got.set(1, 5);
    wanted.set(0, 3);
    wanted.set(1, 4);
    CHECK(near(relative_error(type, {1, 2, 2}, got.bytes(), wanted.bytes()), 0.2));
  }
}

// Catches a bound that lets a wrong layout through, whose error is about 1.4.
TEST_CASE("error bounds fit the types") {
  for (const char* const text : {"nn:f32:1x1x1", "nn:tf32:1x1x1", "nn:bf16:1x1x1", "nn:f16:1x1x1", "tn:bf16:1x1x1"}) {
    CAPTURE(text);
    CHECK(error_bound(mamba_gemm::parse_problem(text)) <= 0.01);
    CHECK(error_bound(mamba_gemm::parse_problem(text)) >= 1e-5);
  }
}

// Catches operands that the L2 cache serves, graphs that end amid the sets or are shorter or much longer than asked
// for.
TEST_CASE("sizes of graphs") {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20U;
  CHECK(sets_for(mebibyte) == 128);
  CHECK(sets_for(128 * mebibyte - 1) == 2);
  CHECK(sets_for(1000 * mebibyte) == 2);
  CHECK(sets_for(3 * mebibyte) == 43);
  CHECK(sets_for(256) == 4096);
  CHECK(nodes_for(0, 2) == 8);
  CHECK(nodes_for(0, 3) == 9);
  CHECK(nodes_for(2000, 2) == 8);
  CHECK(nodes_for(100, 2) == 12);
  CHECK(nodes_for(2, 671) == 671);
  CHECK(nodes_for(1, 671) == 2 * 671);
}

// Catches a command line that cannot be pasted into a shell.
TEST_CASE("the command line is written as a shell takes it") {
  using namespace std::string_literals;
  CHECK(shell_words("mamba-gemm\0bench\0nn:bf16:1x2x3\0--rows=1,2\0"s) == "mamba-gemm bench nn:bf16:1x2x3 --rows=1,2");
  CHECK(shell_words("a b\0\0it's\0"s) == "'a b' '' 'it'\\''s'");
  CHECK_FALSE(own_command_line().empty());
}
