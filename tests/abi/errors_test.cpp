#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

using mamba_gemm::Context;

// Catches a status without a name, and a value that has moved.
TEST_CASE("statuses have names, classes and fixed values") {
  REQUIRE(std::string(mgemm_status_name(MGEMM_OK)) == "MGEMM_OK");
  REQUIRE(std::string(mgemm_status_name(107)) == "MGEMM_FORKED");
  REQUIRE(std::string(mgemm_status_name(502)) == "MGEMM_INTERNAL");
  REQUIRE(std::string(mgemm_status_name(-3)) == "MGEMM_UNKNOWN");
  REQUIRE(mgemm_status_class(MGEMM_OK) == MGEMM_CLASS_OK);
  REQUIRE(mgemm_status_class(MGEMM_BUSY) == MGEMM_CLASS_CALLER);
  REQUIRE(mgemm_status_class(MGEMM_NO_COMPILER) == MGEMM_CLASS_UNSUPPORTED);
  REQUIRE(mgemm_status_class(MGEMM_CANCELLED) == MGEMM_CLASS_ENVIRONMENT);
  REQUIRE(mgemm_status_class(MGEMM_PIN) == MGEMM_CLASS_TRUST);
  REQUIRE(mgemm_status_class(MGEMM_DEVICE_LOST) == MGEMM_CLASS_FATAL);
  REQUIRE(mgemm_status_class(199) == -1);
}

// Catches an error text that success or another thread takes away.
TEST_CASE("the last error stays, and belongs to its thread") {
  REQUIRE(mgemm_launch_run(0) == MGEMM_BAD_HANDLE);
  const std::string text = mgemm_last_error();
  REQUIRE(text == "the launch handle is 0");
  std::int32_t count = 0;
  REQUIRE(mgemm_device_count(&count) == MGEMM_OK);
  REQUIRE(mgemm_last_error() == text);
  std::string elsewhere = "?";
  std::thread([&] {
    elsewhere = mgemm_last_error();
    mgemm_plan_destroy(99);
  }).join();
  REQUIRE(elsewhere.empty());
  REQUIRE(mgemm_last_error() == text);
  REQUIRE(mgemm_last_driver_code() == 0);
}

// Catches an off-by-one in the two-call pattern.
TEST_CASE("error texts are UTF-8 without control characters, whatever a caller's string holds") {
  mgemm_problem problem;
  const auto text_of = [&](const std::string& extra) {
    const std::string text = "nn:f32:1x1x1:" + extra;
    REQUIRE(mgemm_problem_from_string(&problem, sizeof problem, text.c_str()) == MGEMM_INVALID_ARGUMENT);
    const std::string error = mgemm_last_error();
    const size_t at = error.find("1x1x1:") + 6;
    return error.substr(at, extra.size());
  };
  CHECK(text_of("\xff\xfe") == "??");
  CHECK(text_of("\x1b[31m\x7f\r") == "?[31m??");
  CHECK(text_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(text_of("\xc3(\xe2\x82|\xf0\x9f\x98") == "?(??|???");
  CHECK(text_of("\xc0\xaf\xe0\x80\xaf\xed\xa0\x80\xf4\x90\x80\x80") == "????????????");
}

TEST_CASE("strings are given by size first and whole or not at all") {
  REQUIRE(mgemm_launch_run(0) == MGEMM_BAD_HANDLE);
  const std::string text = mgemm_last_error();
  size_t needed = 0;
  REQUIRE(mgemm_last_error_copy(nullptr, 0, &needed) == MGEMM_OK);
  REQUIRE(needed == text.size() + 1);
  std::vector<char> buffer(needed, '#');
  REQUIRE(mgemm_last_error_copy(buffer.data(), needed - 1, nullptr) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(buffer.at(0) == '#');
  REQUIRE(mgemm_last_error() == text);  // asking for the text wrongly does not replace it
  REQUIRE(mgemm_last_error_copy(buffer.data(), needed, &needed) == MGEMM_OK);
  REQUIRE(std::string(buffer.data()) == text);
  const mgemm_problem problem = mamba_gemm::parse_problem("nt:f32:1x2x3");
  REQUIRE(mgemm_problem_to_string(&problem, nullptr, 5, &needed) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_problem_to_string(&problem, nullptr, 0, &needed) == MGEMM_OK);
  REQUIRE(needed == std::strlen("nt:f32:1x2x3") + 1);
}

// Catches messages lost, printed to stderr all the same, or sent below their level.
TEST_CASE("log messages reach the callback by level") {
  struct Line {
    std::int32_t level;
    std::string text;
  };
  std::vector<Line> lines;
  const auto receive = [](std::int32_t level, const char* message, void* user) {
    static_cast<std::vector<Line>*>(user)->push_back({level, message});
  };
  const Context context = Context::reference(1);
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_INFO, receive, &lines));
  const mamba_gemm::Plan plan(context, mamba_gemm::parse_problem("nn:f32:3x4x5"));
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_ERROR, receive, &lines));
  const mamba_gemm::Plan quiet(context, mamba_gemm::parse_problem("nn:f32:3x4x6"));
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_WARN, nullptr, nullptr));
  REQUIRE(lines.size() == 1);
  REQUIRE(lines.at(0).level == MGEMM_LOG_INFO);
  REQUIRE(lines.at(0).text == "plan nn:f32:3x4x5 on reference: F32_FMA/1 by evaluator");
  REQUIRE(mgemm_set_log(9, nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
}

TEST_CASE("version, sources and build can be asked for") {
  REQUIRE(mamba_gemm::version_matches());
  REQUIRE(std::string(mgemm_version_string()) == "0.1.0");
  REQUIRE(std::string(mgemm_source_hash()).size() == 64);
  REQUIRE(std::string(mgemm_build_info()).find("mamba_gemm 0.1.0") == 0);
}
