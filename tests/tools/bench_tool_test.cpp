// `mamba-gemm bench` as a program, where there is no GPU: what is wrong is said before a device is opened.
#include <string>
#include <string_view>
#include <vector>

#include "bad_commands.hpp"
#include "process.hpp"
#include "support/test.hpp"

using mgemm::test::BadCommand;
using mgemm::test::check_refused;
using mgemm::test::Finished;
using mgemm::test::run_tool;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

// Catches a wrong exit code, and a message without the argument, its value or the rule.
TEST_CASE("bench refuses what it cannot time") {
  const BadCommand commands[] = {
      {{"bench"}, "bench needs a suite or a problem string; suites are mamba"},
      {{"bench", "mamab"}, "'mamab' is neither a suite"},
      {{"bench", "nn:bf16:8x8"}, "MGEMM_INVALID_ARGUMENT"},
      {{"bench", "nn:bf16:8x8x8:bias"}, "nn:bf16:8x8x8:bias: bench times products without bias"},
      {{"bench", "nn:bf16:0x8x8"}, "nn:bf16:0x8x8: bench needs M, K and N of at least 1"},
      {{"bench", "mamba", "--vs", "mkl"}, "--vs mkl: must be cublas"},
      {{"bench", "mamba", "--cublas", "x.so"}, "--cublas x.so: is the library for --vs cublas"},
      {{"bench", "mamba", "--windows", "0"}, "--windows"},
      {{"bench", "mamba", "--seed", "-1"}, "--seed -1"},
      {{"bench", "mamba", "--device", "reference"}, "--device reference: bench times GPUs"},
      {{"bench", "mamba", "--device", "auto"}, "--device auto: bench times GPUs"},
      {{"bench", "mamba", "--type", "int8"}, "--type int8: 'int8' must be one of bf16"},
      {{"bench", "mamba", "--op", "tt"}, "--op tt: 'tt' must be one of nn, nt, tn"},
      {{"bench", "mamba", "--rows", "7"}, "leave nothing of mamba"},
      {{"bench", "mamba", "--peak-gbs", "0"}, "--peak-gbs"},
      {{"bench", "mamba", "--vs", "cublas", "--cublas", "/nowhere/lib.so"},
       "--cublas /nowhere/lib.so: must be a cuBLASLt"},
      {{"bench", "mamba", "--vs", "cublas", "--cublas", MGEMM_FAKE_LIBRARIES "/driver_12_4.so"}, "has no cublasLt"},
  };
  check_refused(commands);
}

// Catches a missing GPU that is not the library's error, or advice to take the reference device, which is not timed;
// and an order in which cuBLAS is not opened before.
TEST_CASE("bench without a GPU is the library's error") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"bench", "nn:bf16:8x8x8", "--device", "cuda:4095"},
        {"bench", "nn:bf16:8x8x8", "--device", "cuda:4095", "--vs", "cublas", "--cublas", MGEMM_FAKE_CUBLASLT}}) {
    const Finished done = run_tool(arguments);
    CAPTURE(arguments, done.out, done.err);
    CHECK(done.exit_code == 3);
    CHECK(done.out.empty());
    CHECK(contains(done.err, "MGEMM_NO_DEVICE"));
    CHECK_FALSE(contains(done.err, "--device reference"));
  }
}

// Catches help that lacks a suite.
TEST_CASE("bench --help names the suites") {
  const Finished done = run_tool({"bench", "--help"});
  CHECK(done.exit_code == 0);
  for (const char* const suite : {"mamba", "tf32", "square", "decode", "train", "head"})
    CHECK(contains(done.out, suite));
}
