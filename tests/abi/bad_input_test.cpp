// Every way of calling wrongly that we could think of: a clear error, nothing launched, nothing lost.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/test.hpp"

using mamba_gemm::Context;

namespace {

constexpr std::uint32_t poison = 0xffa5a5a5U;

/// A reference context with small operands for nn:f32:4x4x4 whose output is poisoned.
struct Fixture {
  Context context = Context::reference(1);
  std::vector<float> a = std::vector<float>(64, 1.5F);
  std::vector<float> b = std::vector<float>(64, 2.5F);
  std::vector<std::uint32_t> out = std::vector<std::uint32_t>(64, poison);
  mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:4x4x4");
  mgemm_operands operands = mamba_gemm::operands(mamba_gemm::host_address(a.data()), mamba_gemm::host_address(b.data()),
                                                 mamba_gemm::host_address(out.data()));

  /// Every way of starting this product must fail with `status`, with these words, and without a trace.
  void must_fail(mgemm_status status, const std::string& words) {
    mgemm_launch launch = 77;
    REQUIRE(mgemm_prepare(&launch, context.handle(), &problem, &operands) == status);
    check_text(words);
    REQUIRE(launch == 77);
    REQUIRE(mgemm_gemm(context.handle(), &problem, &operands) == status);
    check_text(words);
    for (const std::uint32_t word : out) REQUIRE(word == poison);
  }
  static void check_text(const std::string& words) {
    const std::string text = mgemm_last_error();
    CAPTURE(text, words);
    REQUIRE(text.find(words) != std::string::npos);
  }
};

}  // namespace

// Each catches an argument that is used before it is checked.
TEST_CASE("null pointers are rejected by name") {
  Fixture f;
  const mamba_gemm::Plan made_plan(f.context, f.problem);
  const mamba_gemm::Launch made_launch(made_plan, f.operands);
  const mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
  const mgemm_context handle = f.context.handle();
  mgemm_launch launch = 0;
  mgemm_plan plan = 0;
  mgemm_context context = 0;
  std::int64_t index = 0;
  float value = 0;
  const auto rejects = [](mgemm_status status, const char* words) {
    CAPTURE(words);
    REQUIRE(status == MGEMM_INVALID_ARGUMENT);
    Fixture::check_text(words);
  };
  rejects(mgemm_context_create(nullptr, &options), "context is NULL");
  rejects(mgemm_context_create(&context, nullptr), "options is NULL");
  rejects(mgemm_context_options_init(nullptr, sizeof options, MGEMM_DEVICE_CUDA), "options is NULL");
  rejects(mgemm_context_device_info(handle, nullptr), "info is NULL");
  rejects(mgemm_context_stream(handle, nullptr), "stream is NULL");
  rejects(mgemm_device_count(nullptr), "count is NULL");
  rejects(mgemm_alloc(handle, 16, nullptr), "address is NULL");
  rejects(mgemm_upload(handle, f.operands.a, nullptr, 16), "source is NULL");
  rejects(mgemm_download(handle, nullptr, f.operands.a, 16), "destination is NULL");
  rejects(mgemm_problem_init(nullptr, sizeof f.problem, MGEMM_OP_NN), "problem is NULL");
  rejects(mgemm_problem_to_string(nullptr, nullptr, 0, nullptr), "problem is NULL");
  rejects(mgemm_problem_from_string(&f.problem, sizeof f.problem, nullptr), "text is NULL");
  rejects(mgemm_problem_from_string(nullptr, sizeof f.problem, "nn:f32:1x1x1"), "problem is NULL");
  rejects(mgemm_plan_create(nullptr, handle, &f.problem, 0), "plan is NULL");
  rejects(mgemm_plan_create(&plan, handle, nullptr, 0), "problem is NULL");
  rejects(mgemm_plan_describe(made_plan.handle(), nullptr), "description is NULL");
  rejects(mgemm_launch_create(nullptr, made_plan.handle(), &f.operands), "launch is NULL");
  rejects(mgemm_launch_create(&launch, made_plan.handle(), nullptr), "operands is NULL");
  rejects(mgemm_launch_bind(made_launch.handle(), nullptr), "operands is NULL");
  rejects(mgemm_launch_describe(made_launch.handle(), nullptr), "description is NULL");
  rejects(mgemm_prepare(nullptr, handle, &f.problem, &f.operands), "launch is NULL");
  rejects(mgemm_prepare(&launch, handle, nullptr, &f.operands), "problem is NULL");
  rejects(mgemm_prepare(&launch, handle, &f.problem, nullptr), "operands is NULL");
  rejects(mgemm_gemm(handle, nullptr, &f.operands), "problem is NULL");
  rejects(mgemm_gemm(handle, &f.problem, nullptr), "operands is NULL");
  rejects(mgemm_evaluate(90, &f.problem, &f.operands, 1, nullptr, &index, &value), "rows is NULL");
  rejects(mgemm_evaluate(90, &f.problem, &f.operands, 1, &index, nullptr, &value), "columns is NULL");
  rejects(mgemm_evaluate(90, &f.problem, &f.operands, 1, &index, &index, nullptr), "values is NULL");
  rejects(mgemm_evaluate(90, nullptr, &f.operands, 1, &index, &index, &value), "problem is NULL");
  rejects(mgemm_evaluate(90, &f.problem, nullptr, 1, &index, &index, &value), "operands is NULL");
}

TEST_CASE("missing and misaligned operands are rejected by name") {
  Fixture f;
  f.operands.a = 0;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.a is 0");
  f.operands.a = mamba_gemm::host_address(f.a.data()) + 2;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.a is 0x");
  Fixture::check_text("multiple of its element size, 4");
  f = Fixture();
  f.operands.out = 0;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.out is 0");
  f.operands.out = mamba_gemm::host_address(f.out.data()) + 1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.out is 0x");
  Fixture::check_text("multiple of its element size, 4");
  f = Fixture();
  f.operands.bias = f.operands.a;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.bias is 0x");
  f = Fixture();
  f.problem.bias = 1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.bias is 0");
  f.operands.bias = f.operands.a + 2;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.bias is 0x");
  Fixture::check_text("multiple of its element size, 4");
  f = Fixture();
  f.operands.b = 0xfffffffffffffff0U;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "past the end of the address space");
}

TEST_CASE("sizes, leading dimensions and enums out of range are rejected by name and value") {
  Fixture f;
  f.problem.m = -1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.m is -1");
  f.problem.m = 2147483648;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.m is 2147483648");
  f = Fixture();
  f.problem.lda = 3;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.lda is 3");
  f = Fixture();
  f.problem.ldout = -4;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.ldout is -4");
  f = Fixture();
  f.problem.ldb = std::numeric_limits<std::int64_t>::max();
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.ldb is 9223372036854775807");
  f = Fixture();
  f.problem.m = 2147483647;
  f.problem.lda = std::int64_t{1} << 48U;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "2^63 bytes");
  f = Fixture();
  f.problem.op = 4;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.op is 4");
  f = Fixture();
  f.problem.in_type = 0;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.in_type is 0");
  f = Fixture();
  f.problem.out_type = -7;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.out_type is -7");
  f = Fixture();
  f.problem.bias = 2;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.bias is 2");
  f = Fixture();
  f.problem.op = MGEMM_OP_NT;
  f.problem.bias = 1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "only nn takes a bias");
}

TEST_CASE("structures of unknown size and reserved fields are rejected") {
  Fixture f;
  f.problem.struct_size = sizeof f.problem - 8;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.struct_size is");
  f.problem.struct_size = 0;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.struct_size is 0");
  f.problem.struct_size = std::numeric_limits<std::size_t>::max();
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.struct_size is");
  f = Fixture();
  f.operands.struct_size = 8;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.struct_size is 8");
  f = Fixture();
  f.problem.reserved[3] = 1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "problem.reserved must be zero");
  f = Fixture();
  f.operands.reserved[0] = 1;
  f.must_fail(MGEMM_INVALID_ARGUMENT, "operands.reserved must be zero");
  mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
  options.reserved[1] = 5;
  mgemm_context context = 0;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("options.reserved must be zero");
  options = Context::options(MGEMM_DEVICE_REFERENCE);
  options.reserved0 = 1;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("options.reserved0 must be zero");
  REQUIRE(context == 0);
  mgemm_device_info info{};
  REQUIRE(mgemm_context_device_info(f.context.handle(), &info) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("info.struct_size is 0");
}

// Catches a structure of another size that is read past its end, or written to.
TEST_CASE("structures of wrong size are rejected everywhere") {
  Fixture f;
  const mamba_gemm::Plan plan(f.context, f.problem);
  const mamba_gemm::Launch launch(plan, f.operands);
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::numeric_limits<std::size_t>::max()}) {
    CAPTURE(size);
    const auto rejects = [size](mgemm_status status, const std::string& structure) {
      REQUIRE(status == MGEMM_INVALID_ARGUMENT);
      Fixture::check_text(structure + ".struct_size is " + std::to_string(size));
    };
    mgemm_context context = 0;
    mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
    options.struct_size = size;
    rejects(mgemm_context_create(&context, &options), "options");
    REQUIRE(context == 0);
    mgemm_description description{};
    std::memset(&description, 0x5a, sizeof description);
    description.struct_size = size;
    const mgemm_description before = description;
    rejects(mgemm_plan_describe(plan.handle(), &description), "description");
    rejects(mgemm_launch_describe(launch.handle(), &description), "description");
    REQUIRE(std::memcmp(&description, &before, sizeof before) == 0);
    mgemm_verify_report report{};
    std::memset(&report, 0x5a, sizeof report);
    report.struct_size = size;
    const mgemm_verify_report report_before = report;
    rejects(mgemm_launch_verify(launch.handle(), 1, 1, &report), "report");
    REQUIRE(std::memcmp(&report, &report_before, sizeof report) == 0);
  }
  mgemm_context context = 0;
  mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
  options.struct_size = sizeof options - 1;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_INVALID_ARGUMENT);
  mgemm_description description{};
  description.struct_size = sizeof description - 1;
  REQUIRE(mgemm_plan_describe(plan.handle(), &description) == MGEMM_INVALID_ARGUMENT);
  mgemm_verify_report report{};
  report.struct_size = sizeof report - 1;
  REQUIRE(mgemm_launch_verify(launch.handle(), 1, 1, &report) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_launch_verify(launch.handle(), 1, 1, nullptr) == MGEMM_OK);
  for (const std::uint32_t word : f.out) REQUIRE(word == poison);
}

// Catches a library that cannot be used by programs compiled against a later header.
TEST_CASE("larger structures are accepted if what is unknown is zero") {
  struct Later {
    mgemm_problem problem;
    std::uint64_t added;
  };
  Fixture f;
  Later later{f.problem, 0};
  later.problem.struct_size = sizeof later;
  const auto* const as_problem = reinterpret_cast<const mgemm_problem*>(&later);
  REQUIRE(mgemm_gemm(f.context.handle(), as_problem, &f.operands) == MGEMM_OK);
  later.added = 1;
  REQUIRE(mgemm_gemm(f.context.handle(), as_problem, &f.operands) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("is not zero");

  struct LaterInfo {
    mgemm_device_info info;
    std::uint64_t added;
  };
  LaterInfo info{};
  info.info.struct_size = sizeof info;
  info.added = 99;
  REQUIRE(mgemm_context_device_info(f.context.handle(), reinterpret_cast<mgemm_device_info*>(&info)) == MGEMM_OK);
  REQUIRE(info.added == 0);
  REQUIRE(info.info.struct_size == sizeof info);
  REQUIRE(std::string(info.info.name) == "reference");

  // What init functions fill in may be larger too.
  later.added = 7;
  REQUIRE(mgemm_problem_init(&later.problem, sizeof later, MGEMM_OP_NN) == MGEMM_OK);
  REQUIRE(later.problem.struct_size == sizeof later);
  REQUIRE(later.added == 0);
  later.added = 7;
  REQUIRE(mgemm_problem_from_string(&later.problem, sizeof later, "nn:f32:4x4x4") == MGEMM_OK);
  REQUIRE(later.added == 0);
  REQUIRE(mgemm_gemm(f.context.handle(), as_problem, &f.operands) == MGEMM_OK);
}

// Catches an output that is overwritten while it is still being read, and windows refused without need.
TEST_CASE("an output that overlaps an input is rejected with the ranges, a neighbouring window is not") {
  Fixture f;
  f.operands.out = f.operands.a + 16;
  mgemm_launch launch = 0;
  REQUIRE(mgemm_prepare(&launch, f.context.handle(), &f.problem, &f.operands) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("shares elements with operands.a at [0x");
  f.operands.out = f.operands.b;
  REQUIRE(mgemm_gemm(f.context.handle(), &f.problem, &f.operands) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("shares elements with operands.b");

  // a and out as the left and right columns of one buffer.
  f.problem.lda = f.problem.ldout = 8;
  f.operands.out = f.operands.a + 16;
  REQUIRE(mgemm_gemm(f.context.handle(), &f.problem, &f.operands) == MGEMM_OK);
  REQUIRE(f.a.at(4) == 15.0F);
  f.operands.out = f.operands.a + 12;
  REQUIRE(mgemm_gemm(f.context.handle(), &f.problem, &f.operands) == MGEMM_INVALID_ARGUMENT);
}

// Catches a NaN that is mistaken for a missing or invalid scalar.
TEST_CASE("NaN scalars are allowed and give the one NaN") {
  Fixture f;
  f.problem.alpha = std::numeric_limits<float>::signaling_NaN();
  REQUIRE(mgemm_gemm(f.context.handle(), &f.problem, &f.operands) == MGEMM_OK);
  REQUIRE(f.out.at(0) == 0x7fffffffU);
  f.problem.alpha = 1.0F;
  f.problem.beta = -std::numeric_limits<float>::quiet_NaN();
  f.out.assign(64, 0);
  REQUIRE(mgemm_gemm(f.context.handle(), &f.problem, &f.operands) == MGEMM_OK);
  REQUIRE(f.out.at(15) == 0x7fffffffU);
  REQUIRE(f.out.at(16) == 0);
}

TEST_CASE("context options out of range are rejected") {
  const auto rejected = [](auto change) {
    mgemm_context_options options = Context::options(MGEMM_DEVICE_REFERENCE);
    change(options);
    mgemm_context context = 5;
    const mgemm_status status = mgemm_context_create(&context, &options);
    REQUIRE(context == 5);
    return status;
  };
  REQUIRE(rejected([](auto& o) { o.device_kind = 3; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.profile = 89; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.ordinal = 1; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.cu_context = 1; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.stream_kind = 0; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.stream = 1; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.threads = -1; }) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(rejected([](auto& o) { o.cache_dir = "relative/path"; }) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("options.cache_dir is 'relative/path'");
  mgemm_context_options options{};
  REQUIRE(mgemm_context_options_init(&options, sizeof options, 9) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_context_options_init(&options, 3, MGEMM_DEVICE_CUDA) == MGEMM_INVALID_ARGUMENT);
}

TEST_CASE("plan alignments that are no power of two, or broken later, are rejected") {
  Fixture f;
  mgemm_plan plan = 0;
  for (const std::int32_t alignment : {-4, 1, 2, 3, 12, 512}) {
    CAPTURE(alignment);
    REQUIRE(mgemm_plan_create(&plan, f.context.handle(), &f.problem, alignment) == MGEMM_INVALID_ARGUMENT);
  }
  REQUIRE(mgemm_plan_create(&plan, f.context.handle(), &f.problem, 16) == MGEMM_OK);
  f.operands.a += 4;
  mgemm_launch launch = 0;
  REQUIRE(mgemm_launch_create(&launch, plan, &f.operands) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("the plan was made for 16");
  REQUIRE(mgemm_plan_destroy(plan) == MGEMM_OK);
}

TEST_CASE("memory calls reject what they were not given") {
  Fixture f;
  std::uint64_t address = 0;
  REQUIRE(mgemm_alloc(f.context.handle(), 0, &address) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_alloc(f.context.handle(), -5, &address) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_alloc(f.context.handle(), std::int64_t{1} << 62U, &address) == MGEMM_OUT_OF_MEMORY);
  REQUIRE(mgemm_alloc(f.context.handle(), 64, &address) == MGEMM_OK);
  REQUIRE(address % 256 == 0);
  REQUIRE(mgemm_free(f.context.handle(), address + 4) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_free(f.context.handle(), address) == MGEMM_OK);
  REQUIRE(mgemm_free(f.context.handle(), address) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_free(f.context.handle(), 0) == MGEMM_OK);
  REQUIRE(mgemm_upload(f.context.handle(), 0, f.a.data(), 4) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_upload(f.context.handle(), f.operands.a, f.a.data(), -4) == MGEMM_INVALID_ARGUMENT);
  constexpr std::uint64_t end = std::numeric_limits<std::uint64_t>::max() - 7;
  REQUIRE(mgemm_upload(f.context.handle(), end, f.a.data(), std::int64_t{1} << 40U) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("destination 0xfffffffffffffff8 and 1099511627776 bytes go past the end of the address space");
  REQUIRE(mgemm_download(f.context.handle(), f.a.data(), end, 16) == MGEMM_INVALID_ARGUMENT);
}

TEST_CASE("null where a pointer must be is an error that names it") {
  Fixture f;
  REQUIRE(mgemm_warmup(f.context.handle(), nullptr, 1, 16, 1, nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("problems");
  REQUIRE(mgemm_kernels("all", 0, 1, nullptr, nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
  mgemm_plan plan = 0;
  REQUIRE(mgemm_plan_create(&plan, f.context.handle(), &f.problem, 4) == MGEMM_OK);
  std::size_t length = 0;
  REQUIRE(mgemm_plan_describe_json(plan, nullptr, 64, &length) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("buffer");
  REQUIRE(mgemm_plan_destroy(plan) == MGEMM_OK);
}

TEST_CASE("evaluate rejects elements outside the output") {
  Fixture f;
  float value = 3;
  std::int64_t row = 4;
  std::int64_t column = 0;
  REQUIRE(mgemm_evaluate(90, &f.problem, &f.operands, 1, &row, &column, &value) == MGEMM_INVALID_ARGUMENT);
  Fixture::check_text("rows[0] is 4");
  row = 3;
  column = -1;
  REQUIRE(mgemm_evaluate(90, &f.problem, &f.operands, 1, &row, &column, &value) == MGEMM_INVALID_ARGUMENT);
  column = 3;
  REQUIRE(mgemm_evaluate(89, &f.problem, &f.operands, 1, &row, &column, &value) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_evaluate(90, &f.problem, &f.operands, -1, &row, &column, &value) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(value == 3);
  f.operands.out = 0;
  REQUIRE(mgemm_evaluate(90, &f.problem, &f.operands, 1, &row, &column, &value) == MGEMM_OK);
  REQUIRE(value == 15);
}
