#include "npy_header.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "support/random.hpp"
#include "support/test.hpp"

using mgemm::cli::BadInput;
using mgemm::cli::NpyHeader;
using mgemm::cli::parse_header;
namespace test = mgemm::test;

namespace {

/// The text of the error, "" if there is none.
std::string error_of(std::string_view header) {
  try {
    parse_header(header);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

// Catches a parser that only reads NumPy's own spelling: other writers order, quote, space and end the dict otherwise.
TEST_CASE("npy headers in every spelling that means the same") {
  for (const char* text : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }            \n",
           "{'shape': (3, 4), 'fortran_order': False, 'descr': '<f4'}",
           "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(3,4)}",
           " \t\n{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 3 , 4 , ) , } \r\n",
       }) {
    CAPTURE(text);
    const NpyHeader header = parse_header(text);
    CHECK(header.descr == "<f4");
    CHECK_FALSE(header.fortran_order);
    CHECK(header.shape == std::vector<std::int64_t>{3, 4});
  }
}

// Catches a special shape read wrongly: no dimension, one, none of a size, the largest 64-bit size.
TEST_CASE("npy shapes at the edges") {
  const auto shape_of = [](const std::string& shape) {
    return parse_header("{'descr': '|O', 'fortran_order': True, 'shape': " + shape + "}").shape;
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(shape_of("()") == Shape{});
  CHECK(shape_of("(5,)") == Shape{5});
  CHECK(shape_of("(0, 5)") == Shape{0, 5});
  CHECK(shape_of("(9223372036854775807, 1)") == Shape{INT64_MAX, 1});
}

// Catches leniency: each of these is not what a .npy header may be, and guessing would read data wrongly.
TEST_CASE("npy headers that are refused, with the reason") {
  const std::string d = "'descr': '<f4'", f = "'fortran_order': False", s = "'shape': (3, 4)";
  const auto dict = [](std::initializer_list<std::string> parts) {
    std::string text = "{";
    for (const std::string& part : parts) text += part + ", ";
    return text + "}";
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "'{' expected"},
      {"{", "a string expected"},
      {"()", "'{' expected"},
      {dict({f, s}), "the key 'descr' is missing"},
      {dict({d, s}), "the key 'fortran_order' is missing"},
      {dict({d, f}), "the key 'shape' is missing"},
      {dict({d, f, s, d}), "the key 'descr' occurs twice"},
      {dict({d, f, s, f}), "the key 'fortran_order' occurs twice"},
      {dict({d, f, s, s}), "the key 'shape' occurs twice"},
      {dict({d, f, s, "'extra': 1"}), "unknown key 'extra'"},
      {dict({d, f, s}) + " x", "something follows"},
      {dict({d, f, s}) + std::string(1, '\0'), "something follows"},
      {"{" + d + " " + f + "}", "'}' expected"},
      {"{,}", "a string expected"},
      {"{" + d + ",, " + f + "}", "a string expected"},
      {dict({"'descr': [('a', '<f4')]", f, s}), "structured dtype"},
      {dict({"'descr': '<f4", f, s}), "expected"},
      {dict({"'descr': '\\x3cf4'", f, s}), "escape"},
      {dict({"'descr': 4", f, s}), "a string expected"},
      {dict({d, "'fortran_order': 0", s}), "True or False"},
      {dict({d, "'fortran_order': 'False'", s}), "True or False"},
      {dict({d, f, "'shape': (3)"}), "needs its comma"},
      {dict({d, f, "'shape': [3, 4]"}), "'(' expected"},
      {dict({d, f, "'shape': (-3, 4)"}), "negative"},
      {dict({d, f, "'shape': (+3, 4)"}), "a size expected"},
      {dict({d, f, "'shape': (3.0, 4)"}), "expected"},
      {dict({d, f, "'shape': (0x3, 4)"}), "expected"},
      {dict({d, f, "'shape': (03, 4)"}), "leading zeros"},
      {dict({d, f, "'shape': (3L, 4L)"}), "expected"},
      {dict({d, f, "'shape': (,)"}), "a size expected"},
      {dict({d, f, "'shape': (3,,4)"}), "a size expected"},
      {dict({d, f, "'shape': (9223372036854775808, 4)"}), "absurd"},
      {dict({d, f, "'shape': (" + std::string(1000, '9') + ", 4)"}), "absurd"},
      {dict({d, f, "'shape': ((((3, 4"}), "a size expected"},
  };
  for (const auto& [text, reason] : cases) {
    const std::string error = error_of(text);
    CAPTURE(text, reason, error);
    CHECK(contains(error, reason));
  }
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  CHECK(contains(error_of(dict({d, f, "'shape': " + many + ")"})), "more than 64 dimensions"));
}

// Catches a message that leaves the reader of it to find out what the file has, or what it should have.
TEST_CASE("npy headers that are refused show the value and what is read") {
  const auto error_with = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return error_of("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n");
  };
  CHECK(error_with("[('a', '<f4'), ('b', '<i4')]", "False", "(3, 4)") ==
        "bad header at byte 10: descr '[('a', '<f4'), ('b', '<i4')]': a structured dtype; only '<f4' is read");
  CHECK(error_with("4", "False", "(3, 4)") ==
        "bad header at byte 10: descr '4': a string expected; only '<f4' is read");
  CHECK(error_with("'\\x3cf4'", "False", "(3, 4)") ==
        "bad header at byte 10: an escape in the string '\\x3cf4'; none is read");
  CHECK(error_with("'<f4'", "1", "(3, 4)") ==
        "bad header at byte 34: fortran_order '1': True or False expected; only False is read");
  const std::string rule = "; a tuple of sizes from 0 to 2^63 - 1 such as (3, 4) is read";
  CHECK(error_with("'<f4'", "False", "[3, 4]") == "bad header at byte 50: shape '[3, 4]': '(' expected" + rule);
  CHECK(error_with("'<f4'", "False", "(3, -4)") == "bad header at byte 54: shape '(3, -4)': a negative size" + rule);
  CHECK(error_with("'<f4'", "False", "(3)") ==
        "bad header at byte 53: shape '(3)': a tuple of one size needs its comma" + rule);
  CHECK(error_with("'<f4'", "False", "(3.5, 4)") ==
        "bad header at byte 52: shape '(3.5, 4)': ',' or ')' expected" + rule);
  CHECK(contains(error_with("'<f4'", "False", "(3, 4"), "shape '(3, 4, }\\x0a': a size expected"));
}

// Catches a message that passes a file's control characters on to a terminal.
TEST_CASE("texts of a file are shown printable and short") {
  CHECK(mgemm::cli::in_quotes("a\x1b[2J\xff") == "'a\\x1b[2J\\xff'");
  CHECK(mgemm::cli::in_quotes(std::string(100, 'a')) == "'" + std::string(40, 'a') + "...'");
}

// Catches out-of-range reads, endless loops and foreign exceptions on hostile headers (with the sanitizers), and
// results that break the promises the reader relies on.
TEST_CASE("no header bytes harm the parser") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  const std::string valid = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n";
  constexpr std::string_view alphabet = "{}()[]'\",: \n\\0123456789-TrueFalsedescrshape<f4";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = valid;
    for (std::int64_t edits = test::uniform(random, 1, 6); edits > 0 && !text.empty(); --edits) {
      const auto at = static_cast<std::size_t>(test::uniform(random, 0, std::ssize(text) - 1));
      const auto other = static_cast<std::size_t>(test::uniform(random, 0, std::ssize(alphabet) - 1));
      switch (test::uniform(random, 0, 3)) {
        case 0:
          text[at] = static_cast<char>(test::uniform(random, -128, 127));
          break;
        case 1:
          text[at] = alphabet[other];
          break;
        case 2:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, alphabet[other]);
          break;
      }
    }
    try {
      const NpyHeader header = parse_header(text);
      REQUIRE(header.shape.size() <= 64);
      for (const std::int64_t size : header.shape) REQUIRE(size >= 0);
    } catch (const BadInput&) {
    }
  }
}
