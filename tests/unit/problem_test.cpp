#include "numeric/problem.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

std::string rejection(const std::string& text) {
  try {
    problem_from_string(text);
  } catch (const Error& error) {
    REQUIRE(error.status() == MGEMM_INVALID_ARGUMENT);
    return error.what();
  }
  return "accepted";
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

float random_scalar(Random& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  switch (uniform(random, 0, 3)) {
    case 0:
      return 1.0F;
    case 1:
      return 0.0F;
    default:
      return std::bit_cast<float>(bits);  // any float: NaNs with payload, subnormals, infinities
  }
}

}  // namespace

// Catches a field that is not written, not read, or does not survive bit for bit.
TEST_CASE("problem strings read back as the same problem") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  for (int round = 0; round < 5000; ++round) {
    Problem p;
    p.op = static_cast<Op>(uniform(random, 1, 3));
    p.bias = p.op == Op::nn && uniform(random, 0, 1) == 1;
    p.m = uniform(random, 0, 5000);
    p.k = uniform(random, 0, 5000);
    p.n = uniform(random, 0, 5000);
    p.lda = layout_a(p).columns + uniform(random, 0, 1) * uniform(random, 1, 9);
    p.ldb = layout_b(p).columns + uniform(random, 0, 1) * uniform(random, 1, 9);
    p.ldout = output_columns(p) + uniform(random, 0, 1) * uniform(random, 1, 9);
    p.alpha = random_scalar(random);
    p.beta = random_scalar(random);
    const std::string text = to_string(p);
    CAPTURE(text);
    REQUIRE(text.size() < sizeof mgemm_description::problem);
    const mgemm_problem before = to_c(p);
    const mgemm_problem after = to_c(problem_from_string(text));
    REQUIRE(std::memcmp(&before, &after, sizeof before) == 0);
  }
}

// Catches a change of the written form, which logs and command lines depend on.
TEST_CASE("problem strings have the documented form") {
  REQUIRE(to_string(problem_from_string("nn:f32:256x768x512:bias,alpha=0.5:lda=800")) ==
          "nn:f32:256x768x512:bias:lda=800:alpha=0.5");
  REQUIRE(to_string(problem_from_string("tn:f32:3x4x5:beta=1")) == "tn:f32:3x4x5");
  // The output's type is written only where it is not the usual one.
  for (const char* const text :
       {"nn:bf16:3x4x5", "nt:f16:3x4x5:out=f32", "tn:bf16:3x4x5", "tn:f16:3x4x5", "nn:tf32:3x4x5"}) {
    REQUIRE(to_string(problem_from_string(text)) == text);
  }
  REQUIRE(to_string(problem_from_string("nn:bf16:3x4x5:out=bf16")) == "nn:bf16:3x4x5");
  REQUIRE(to_string(problem_from_string("tn:f16:3x4x5:out=f32")) == "tn:f16:3x4x5");
  REQUIRE(to_string(problem_from_string("nt:f32:3x4x5:beta=-0:out=f32")) == "nt:f32:3x4x5:beta=-0");
  REQUIRE(to_string(problem_from_string("nt:f32:3x4x5:alpha=0x7f800001")) == "nt:f32:3x4x5:alpha=0x7f800001");
  REQUIRE(to_string(problem_from_string("nt:f32:3x4x5:alpha=nan,beta=-inf")) == "nt:f32:3x4x5:alpha=nan:beta=-inf");
}

// Catches silent acceptance of a mistyped problem, and messages that do not say where.
TEST_CASE("malformed problem strings are rejected with what and where") {
  REQUIRE(mentions(rejection(""), "''"));
  REQUIRE(mentions(rejection("mm:f32:1x1x1"), "'mm' is no operation"));
  REQUIRE(mentions(rejection("nn:f64:1x1x1"), "'f64' is no type"));
  REQUIRE(mentions(rejection("nn:bf16:1x1x1:out=f16"),
                   "problem.out_type is f16 with op nn of bf16; it must be bf16 or f32"));
  REQUIRE(mentions(rejection("nt:f16:1x1x1:out=bf16"), "it must be f16 or f32"));
  REQUIRE(mentions(rejection("tn:bf16:1x1x1:out=bf16"), "it must be f32"));
  REQUIRE(mentions(rejection("nn:f32:1x1x1:out=bf16"), "it must be f32"));
  REQUIRE(mentions(rejection("nn:tf32:1x1x1:out=tf32"), "it must be f32"));
  REQUIRE(mentions(rejection("nn:f32"), "MxKxN is missing"));
  REQUIRE(mentions(rejection("nn:f32:1x1"), "MxKxN"));
  REQUIRE(mentions(rejection("nn:f32:1x1x1x1"), "'1x1'"));
  REQUIRE(mentions(rejection("nn:f32:-1x1x1"), "'-1'"));
  REQUIRE(mentions(rejection("nn:f32:99999999999999999999x1x1"), "for M"));
  REQUIRE(mentions(rejection("nn:f32:2147483648x1x1"), "problem.m is 2147483648"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:"), "'' is no extra"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:lda=2"), "problem.lda is 2"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:lda"), "needs a value"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:bias=1"), "'bias=1' is no extra"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:bias:bias"), "given twice"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:alpha=1:alpha=1"), "given twice"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:alpha=1e99"), "no f32 number"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:alpha=0x7f8"), "8 hexadecimal digits"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:alpha= 1"), "no f32 number"));
  REQUIRE(mentions(rejection("tn:f32:2x3x4:bias"), "only nn takes a bias"));
  REQUIRE(mentions(rejection("nn:f32:2x3x4:frob=1"), "at character 14"));
}

// Catches an operation whose matrices are laid out the wrong way round.
TEST_CASE("layouts follow the table of operations") {
  const Problem nn = problem_from_string("nn:f32:2x3x4");
  const Problem tn = problem_from_string("tn:f32:2x3x4");
  const Problem nt = problem_from_string("nt:f32:2x3x4");
  const auto is = [](const Layout& layout, std::int64_t rows, std::int64_t columns) {
    return layout.rows == rows && layout.columns == columns && layout.leading == columns;
  };
  REQUIRE(is(layout_a(nn), 2, 3));
  REQUIRE(is(layout_b(nn), 3, 4));
  REQUIRE(is(layout_out(nn), 2, 4));
  REQUIRE(reduction(nn) == 3);
  REQUIRE(is(layout_a(tn), 2, 3));
  REQUIRE(is(layout_b(tn), 2, 4));
  REQUIRE(is(layout_out(tn), 3, 4));
  REQUIRE(reduction(tn) == 2);
  REQUIRE(is(layout_a(nt), 2, 4));
  REQUIRE(is(layout_b(nt), 3, 4));
  REQUIRE(is(layout_out(nt), 2, 3));
  REQUIRE(reduction(nt) == 4);
}

// Catches 64-bit overflow in the size of an operand.
TEST_CASE("operands of 2^63 bytes and more are rejected") {
  REQUIRE(mentions(rejection("nn:f32:2147483647x1x1:lda=281474976710656"), "2^63"));
  REQUIRE(mentions(rejection("nn:f32:2147483647x0x2147483647"), "2^63"));
  REQUIRE(rejection("nn:f32:65536x65536x65536") == "accepted");
}
