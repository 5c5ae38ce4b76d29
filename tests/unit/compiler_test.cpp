#include "compile/compiler.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "catalogue/targets.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "support/captured_log.hpp"
#include "support/raises.hpp"
#include "support/test.hpp"

using mgemm::Compiled;
using mgemm::CompileRequest;
using mgemm::EmbeddedFile;
using mgemm::Error;
using mgemm::nvrtc_abi::Result;
using mgemm::test::error_of;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr std::array<EmbeddedFile, 1> headers{{{"shape.cuh", "#pragma once\nconstexpr int width = 7;\n"}}};

constexpr const char* source = R"(
#include "shape.cuh"
extern "C" __global__ void chain(float* out, const float* a, const float* b) {
  float sum = 0.0f;
  for (int i = 0; i < width; ++i) sum = __fmaf_rn(a[i], b[i], sum);
  *out = sum;
}
)";

constexpr const char* plain_source = R"(
extern "C" __global__ void plain(float* out, float a, float b, float c) { *out = a * b + c; }
)";

CompileRequest request(std::string text = source) { return {"test.cu", std::move(text), headers, "compute_90a"}; }

}  // namespace

// Catches: a wrong row, and an "a" target for a capability that cannot run it.
TEST_CASE("compiler: targets by compute capability") {
  struct Row {
    int major;
    int minor;
    const char* target;
  };
  for (const Row& row :
       std::array{Row{8, 0, "compute_80"}, Row{8, 6, "compute_86"}, Row{8, 9, "compute_89"}, Row{9, 0, "compute_90a"},
                  Row{10, 0, "compute_100a"}, Row{10, 3, "compute_103a"}, Row{11, 0, "compute_110a"},
                  Row{12, 0, "compute_120a"}, Row{12, 1, "compute_121a"}, Row{8, 7, "compute_86"},
                  Row{8, 8, "compute_86"}, Row{8, 1, "compute_80"}, Row{9, 9, "compute_90"}, Row{10, 1, "compute_100"},
                  Row{10, 7, "compute_103"}, Row{12, 5, "compute_121"}}) {
    CHECK(mgemm::target_for(row.major, row.minor) == row.target);
  }
  for (const int major : {5, 7, 13}) {
    const Error error = error_of([&] { mgemm::target_for(major, 5); });
    CHECK(error.status() == MGEMM_UNSUPPORTED);
    CHECK(contains(error.what(), std::to_string(major) + ".5"));
  }
}

// Catches: an option that is lost or added; each of them decides bits.
TEST_CASE("compiler: the options are exactly these") {
  std::vector<std::string> expected{"--fmad=false",     "--ftz=false", "--prec-div=true",
                                    "--prec-sqrt=true", "--std=c++20", "--gpu-architecture=compute_90a"};
  CHECK(mgemm::compile_options("compute_90a", {12, 8}) == expected);
  expected.emplace_back("--no-cache");
  CHECK(mgemm::compile_options("compute_90a", {12, 9}) == expected);
  CHECK(mgemm::compile_options("compute_90a", {13, 0}) == expected);
  expected.at(5) = "--gpu-architecture=sm_90a";
  expected.emplace_back("--ptxas-options=-v");
  CHECK(mgemm::compile_options("sm_90a", {13, 0}) == expected);
}

// Catches: NVRTC's NUL inside the PTX, headers or options that do not arrive, a program that is never destroyed.
TEST_CASE("compiler: a compile passes everything on and gives everything back") {
  mgemm::fake::Nvrtc fake;
  fake.set_outcome(Result::Success, "a warning");
  // A view into a longer text: the terminator NVRTC needs is not where the view ends.
  const std::string long_text = "constexpr int width = 7;garbage";
  const std::array<EmbeddedFile, 1> views{
      {{std::string_view("shape.cuhX").substr(0, 9), std::string_view(long_text).substr(0, 24)}}};
  CompileRequest wanted = request();
  wanted.headers = views;
  const Compiled compiled = mgemm::compile(mgemm::nvrtc(0), wanted);
  CHECK(contains(compiled.ptx, ".entry chain("));
  CHECK(compiled.ptx.find('\0') == std::string::npos);
  CHECK(compiled.ptx.back() == '\n');
  CHECK(compiled.log == "a warning");
  const auto compiles = fake.compiles();
  REQUIRE(compiles.size() == 1);
  CHECK(compiles[0].name == "test.cu");
  CHECK(compiles[0].source == source);
  CHECK(compiles[0].headers == std::map<std::string, std::string>{{"shape.cuh", "constexpr int width = 7;"}});
  CHECK(compiles[0].options == mgemm::compile_options("compute_90a", {13, 0}));
  CHECK(fake.live_programs() == 0);
}

// Catches: kernels the fake does not see, so that tests load modules without them.
TEST_CASE("compiler: the fake NVRTC finds every exported kernel of a source") {
  mgemm::fake::Nvrtc fake;
  fake.set_parameters("b", {{96, 8}});
  const Compiled compiled =
      mgemm::compile(mgemm::nvrtc(0),
                     request("extern \"C\" __global__ void a(int x) {}\n__global__ void hidden() {}\n"
                             "extern \"C\" __global__ void __launch_bounds__(128, (1)) b(P p) {}\n"
                             "extern \"C\" __global__ __launch_bounds__(64) void c() {}\nextern \"C\" void host();\n"));
  const auto entries = mgemm::fake::entries_in(compiled.ptx);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "a");
  CHECK(entries[1].name == "b");
  CHECK(entries[1].parameters == std::vector<mgemm::fake::Parameter>{{96, 8}});
  CHECK(entries[2].name == "c");
}

// Catches: a compile error whose text does not say what, where, with which compiler and options; a log of megabytes in
// it.
TEST_CASE("compiler: a failed compile says module, compiler, options and the log's first lines") {
  mgemm::fake::Nvrtc fake;
  std::string lines = "test.cu(3): error: first\n";
  for (int line = 0; line < 1000; ++line) lines += "another line\n";
  lines += "the last line";
  fake.set_outcome(Result::Compilation, lines);
  const mgemm::test::CapturedLog captured;
  const Error error = error_of([&] { mgemm::compile(mgemm::nvrtc(0), request()); });
  CHECK(error.status() == MGEMM_COMPILE);
  CHECK(error.driver_code() == 6);
  for (const char* part : {"module test.cu", "NVRTC_ERROR_COMPILATION", "NVRTC 13.0 (/", "--fmad=false",
                           "--gpu-architecture=compute_90a", "test.cu(3): error: first"}) {
    CHECK(contains(error.what(), part));
  }
  CHECK(!contains(error.what(), "the last line"));
  CHECK(std::string(error.what()).size() < 2047);
  CHECK(captured.has("the last line"));
  CHECK(fake.live_programs() == 0);
}

// Catches: the frequent causes reported without their remedy, and out of memory as a compile error.
TEST_CASE("compiler: results with a known cause name it") {
  mgemm::fake::Nvrtc fake;
  fake.set_outcome(Result::InvalidOption, "");
  const Error option = error_of([&] { mgemm::compile(mgemm::nvrtc(0), request()); });
  CHECK(option.status() == MGEMM_COMPILE);
  CHECK(contains(option.what(), "does not know one of the options"));
  CHECK(contains(option.what(), "NVRTC 13.0"));
  fake.set_outcome(Result::BuiltinOperationFailure, "");
  const Error builtins = error_of([&] { mgemm::compile(mgemm::nvrtc(0), request()); });
  CHECK(builtins.status() == MGEMM_COMPILE);
  CHECK(contains(builtins.what(), "libnvrtc-builtins"));
  fake.set_outcome(Result::OutOfMemory, "");
  CHECK(error_of([&] { mgemm::compile(mgemm::nvrtc(0), request()); }).status() == MGEMM_OUT_OF_MEMORY);
  CHECK(fake.live_programs() == 0);
}

// Catches: a bare NVRTC_ERROR_INVALID_OPTION for a board newer than the compiler.
TEST_CASE("compiler: a target NVRTC does not know is unsupported, naming version, target and remedy") {
  mgemm::fake::Nvrtc fake;
  fake.set_supported_archs({80, 86, 89, 90});
  CHECK_NOTHROW(mgemm::compile(mgemm::nvrtc(0), request()));
  CompileRequest newer = request();
  newer.target = "compute_103a";
  const Error error = error_of([&] { mgemm::compile(mgemm::nvrtc(0), newer); });
  CHECK(error.status() == MGEMM_UNSUPPORTED);
  for (const char* part : {"NVRTC 13.0", "compute_103a", "80, 86, 89, 90", "MAMBA_GEMM_NVRTC"}) {
    CHECK(contains(error.what(), part));
  }
  CHECK(fake.compiles().size() == 1);
}

// Catches: a module that compiles and then fails to load without saying which function it lacks.
TEST_CASE("compiler: an undefined device function is an error here, with its name") {
  mgemm::fake::Nvrtc fake;
  fake.set_prologue(".extern .func (.param .b32 r) helper(.param .b32 x);\n");
  const Error error = error_of([&] { mgemm::compile(mgemm::nvrtc(0), request()); });
  CHECK(error.status() == MGEMM_COMPILE);
  CHECK(contains(error.what(), "helper"));
  CHECK(fake.live_programs() == 0);
}

// Catches: options that do not do what the contracts rely on, with the compiler that will really be used.
TEST_CASE("compiler: NVRTC keeps products and sums apart, and fused where written") {
  const mgemm::NvrtcTable* const nvrtc = mgemm::find_nvrtc(0);
  if (nvrtc == nullptr) MGEMM_SKIP("no NVRTC on this machine");
  const Compiled fused = mgemm::compile(*nvrtc, request());
  CHECK(contains(fused.ptx, ".entry chain("));
  CHECK(contains(fused.ptx, ".target sm_90a"));
  CHECK(contains(fused.ptx, "fma.rn.f32"));
  CHECK(!contains(fused.ptx, ".ftz"));
  CHECK(fused.ptx.find('\0') == std::string::npos);
  const Compiled plain = mgemm::compile(*nvrtc, request(plain_source));
  CHECK(contains(plain.ptx, "mul.rn.f32"));
  CHECK(contains(plain.ptx, "add.rn.f32"));
  CHECK(!contains(plain.ptx, "fma"));
}

// Catches: a compile whose output depends on more than its input.
TEST_CASE("compiler: NVRTC gives the same PTX twice, and for every target it knows") {
  const mgemm::NvrtcTable* const nvrtc = mgemm::find_nvrtc(0);
  if (nvrtc == nullptr) MGEMM_SKIP("no NVRTC on this machine");
  CHECK(mgemm::compile(*nvrtc, request()).ptx == mgemm::compile(*nvrtc, request()).ptx);
  for (const mgemm::CompileTarget& target : mgemm::compile_targets) {
    for (const std::string_view name : {target.exact, target.plain}) {
      CompileRequest wanted = request();
      wanted.target = name;
      try {
        CHECK(contains(mgemm::compile(*nvrtc, wanted).ptx, "fma.rn.f32"));
      } catch (const Error& error) {
        CHECK(error.status() == MGEMM_UNSUPPORTED);
        CHECK(nvrtc->version < mgemm::NvrtcVersion{13, 0});
      }
    }
  }
}

// Catches: an error without the compiler's message, and an undefined function that is found only at load.
TEST_CASE("compiler: NVRTC's errors carry its log") {
  const mgemm::NvrtcTable* const nvrtc = mgemm::find_nvrtc(0);
  if (nvrtc == nullptr) MGEMM_SKIP("no NVRTC on this machine");
  const Error error =
      error_of([&] { mgemm::compile(*nvrtc, request("#include \"shape.cuh\"\nint x = undeclared;\n")); });
  CHECK(error.status() == MGEMM_COMPILE);
  CHECK(contains(error.what(), "test.cu(2): error"));
  CHECK(contains(error.what(), "undeclared"));
  CHECK(contains(error.what(), nvrtc->files.library));
  const Error missing = error_of([&] {
    mgemm::compile(
        *nvrtc,
        request("__device__ float helper(float);\nextern \"C\" __global__ void k(float* p) { *p = helper(*p); }"));
  });
  CHECK(missing.status() == MGEMM_COMPILE);
  CHECK(contains(missing.what(), "helper"));
  const Error header = error_of([&] { mgemm::compile(*nvrtc, request("#include \"other.cuh\"\n")); });
  CHECK(contains(header.what(), "other.cuh"));
}

// Catches: state shared between compiles; run under the thread sanitizer too.
TEST_CASE("compiler: eight threads compile at once and get what one gets") {
  const mgemm::NvrtcTable* const nvrtc = mgemm::find_nvrtc(0);
  if (nvrtc == nullptr) MGEMM_SKIP("no NVRTC on this machine");
  const std::string expected = mgemm::compile(*nvrtc, request()).ptx;
  std::array<std::string, 8> results;
  {
    std::vector<std::jthread> threads;
    for (std::string& result : results) {
      threads.emplace_back([&result, nvrtc] { result = mgemm::compile(*nvrtc, request()).ptx; });
    }
  }
  for (const std::string& result : results) CHECK(result == expected);
}
