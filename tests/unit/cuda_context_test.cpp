// The CUDA side of contexts, plans and launches without a GPU: on the fake driver, whose kernels do what a test says.
#include <cstring>
#include <thread>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "numeric/evaluator.hpp"
#include "support/device_product.hpp"
#include "support/fake_board.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

bool last_error_has(const std::string& words) {
  return std::string(mgemm_last_error()).find(words) != std::string::npos;
}

}  // namespace

// Catches wrong argument bytes: a stride, slice length or pointer that does not say what the problem says.
TEST_CASE("a kernel that follows its arguments gives the reference device's bits") {
  const FakeBoard board;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mamba_gemm::Context reference = mamba_gemm::Context::reference(1);
  for (int round = 0; round < 60; ++round) {
    const auto op = static_cast<std::int32_t>(uniform(random, 1, 3));
    mgemm_problem problem =
        mamba_gemm::make_problem(op, uniform(random, 0, 60), uniform(random, 0, 60), uniform(random, 0, 60));
    if (round % 4 == 0) (op == MGEMM_OP_NN ? problem.k : op == MGEMM_OP_TN ? problem.m : problem.n) = 1500;
    problem.bias = op == MGEMM_OP_NN ? static_cast<std::int32_t>(uniform(random, 0, 1)) : 0;
    problem.alpha = random_scalar(random, false);
    problem.beta = random_scalar(random, false);
    const DeviceProduct product = make_device_product(random, problem, {});
    CAPTURE(mamba_gemm::to_string(product.problem));
    REQUIRE(run_on(gpu, product) == run_on(reference, product));
  }
}

// Catches a verify that would pass a wrong kernel.
TEST_CASE("verify finds a kernel that is wrong in one element") {
  FakeBoard board;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const mamba_gemm::Context gpu = FakeBoard::context();
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:20x600x30:bias"), {});
  const BoundProduct bound(gpu, product);
  const mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
  REQUIRE(launch.verify(600, seed).mismatches == 0);
  board.driver.on_launch([](const fake::Launch& call) {
    const EvaluatorInput input = input_of(call);
    evaluate(input, Isa::generic, 1);
    std::uint32_t word = 0;
    float& element = fake::out_of(input)[7 * input.out_leading + 11];
    std::memcpy(&word, &element, sizeof word);
    word ^= 1U;  // the last bit
    std::memcpy(&element, &word, sizeof word);
  });
  mgemm_verify_report report{};
  report.struct_size = sizeof report;
  REQUIRE(mgemm_launch_verify(launch.handle(), 600, seed, &report) == MGEMM_MISMATCH);
  REQUIRE(report.checked == 600);
  REQUIRE(report.mismatches == 1);
  REQUIRE(report.first_row == 7);
  REQUIRE(report.first_column == 11);
  REQUIRE((report.got ^ report.expected) == 1U);
  REQUIRE(last_error_has("first at (7, 11)"));
  // An element that is not written at all.
  board.driver.on_launch([](const fake::Launch& call) {
    EvaluatorInput input = input_of(call);
    input.rows -= 1;
    evaluate(input, Isa::generic, 1);
  });
  REQUIRE(mgemm_launch_verify(launch.handle(), 600, seed, &report) == MGEMM_MISMATCH);
  REQUIRE(report.first_row == 19);
  REQUIRE(bound.result() == product.out.words);
}

// Catches anything left behind: memory, streams, contexts, the caller's current context.
TEST_CASE("everything is given back, and the caller's current context is left alone") {
  fake::LiveObjects after;
  {
    const FakeBoard board;
    const cuda::Context mine = const_cast<fake::Driver&>(board.driver).make_context(0);
    board.driver.table().cuCtxPushCurrent(mine);
    const std::vector<cuda::Context> stack = fake::Driver::context_stack();
    {
      const mamba_gemm::Context gpu = FakeBoard::context();
      std::uint64_t forgotten = 0;
      REQUIRE(mgemm_alloc(gpu.handle(), 1000, &forgotten) == MGEMM_OK);
      Random random(1);
      run_on(gpu, make_device_product(random, mamba_gemm::parse_problem("tn:f32:20x30x40"), {}));
      REQUIRE(mgemm_launch_run(1) == MGEMM_BAD_HANDLE);
      REQUIRE(fake::Driver::context_stack() == stack);
    }
    REQUIRE(fake::Driver::context_stack() == stack);
    cuda::Context popped = nullptr;
    board.driver.table().cuCtxPopCurrent(&popped);
    after = board.driver.live();
  }
  REQUIRE(after.primary_retains == 0);
  REQUIRE(after.streams == 0);
  REQUIRE(after.events == 0);
  REQUIRE(after.allocations == 0);
}

// Catches a type that GPUs have no kernel for, one that is launched with another's kernel or arguments, and an
// alignment that no element has.
TEST_CASE("every type has kernels, which give the reference device's bits") {
  const FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mamba_gemm::Context reference = mamba_gemm::Context::reference();
  Random random(3);
  for (const char* const text : {"nn:bf16:20x30x40:bias", "nt:f16:20x30x40:out=f32", "tn:bf16:20x30x40",
                                 "tn:f16:2000x30x40", "nn:tf32:20x30x40", "nt:f16:20x33x41", "tn:tf32:1100x30x40"}) {
    CAPTURE(text);
    const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem(text), {});
    CHECK(run_on(gpu, product) == run_on(reference, product));
    mgemm_plan plan = 0;
    CHECK(mgemm_plan_create(&plan, gpu.handle(), &product.problem, 1) == MGEMM_INVALID_ARGUMENT);
  }
}

// Catches a launch path that makes other driver calls than a look at the current context and the launch.
TEST_CASE("a run is one launch and a look at the current context") {
  FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  Random random(2);
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:20x30x40"), {});
  const BoundProduct bound(gpu, product);
  mamba_gemm::Launch launch(gpu, product.problem, bound.operands());
  board.driver.reset_calls();
  launch.run();
  REQUIRE(board.driver.calls("cuLaunchKernel") == 1);
  REQUIRE(board.driver.calls("cuCtxGetCurrent") == 1);
  for (const char* other : {"cuMemAlloc", "cuStreamIsCapturing", "cuModuleGetFunction", "cuStreamSynchronize",
                            "cuFuncSetAttribute", "cuStreamGetCtx", "cuPointerGetAttribute"}) {
    CAPTURE(other);
    REQUIRE(board.driver.calls(other) == 0);
  }
}

// Catches a compile, load or allocation that would break the caller's capture.
TEST_CASE("in capture a plan that is not warm is an error that names the problem, a warm one runs") {
  FakeBoard board;
  mamba_gemm::Context gpu = FakeBoard::context();
  Random random(3);
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:20x30x40"), {});
  const BoundProduct bound(gpu, product);
  const mgemm_operands operands = bound.operands();
  const auto stream = reinterpret_cast<cuda::Stream>(gpu.stream());
  board.driver.set_capture_status(stream, cuda::CaptureStatus::Active);
  REQUIRE(mgemm_gemm(gpu.handle(), &product.problem, &operands) == MGEMM_CAPTURE_MISS);
  REQUIRE(last_error_has(mamba_gemm::to_string(product.problem)));
  std::uint64_t address = 0;
  REQUIRE(mgemm_alloc(gpu.handle(), 64, &address) == MGEMM_STATE);
  REQUIRE(mgemm_context_synchronize(gpu.handle()) == MGEMM_STATE);
  REQUIRE(board.driver.launches().empty());
  REQUIRE(board.driver.live().modules == 0);
  board.driver.set_capture_status(stream, cuda::CaptureStatus::None);
  gpu.gemm(product.problem, operands);
  board.driver.clear_launches();  // its own, and the probes of its kernel
  board.driver.set_capture_status(stream, cuda::CaptureStatus::Active);
  gpu.gemm(product.problem, operands);
  mgemm_launch launch = 0;
  REQUIRE(mgemm_prepare(&launch, gpu.handle(), &product.problem, &operands) == MGEMM_OK);
  REQUIRE(mgemm_launch_run(launch) == MGEMM_OK);
  REQUIRE(mgemm_launch_destroy(launch) == MGEMM_OK);
  REQUIRE(board.driver.launches().size() == 2);
  board.driver.set_capture_status(stream, cuda::CaptureStatus::None);
}

// Catches a context that goes on after a kernel fault, or that cannot be destroyed then.
TEST_CASE("a kernel fault makes the context lost, and only destroy works") {
  FakeBoard board;
  mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
  options.cache_dir = "off";
  mgemm_context context = 0;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_OK);
  board.driver.poison(cuda::Result::IllegalAddress);
  REQUIRE(mgemm_context_synchronize(context) == MGEMM_DEVICE_LOST);
  REQUIRE(last_error_has("possibly not ours"));
  REQUIRE(mgemm_last_driver_code() == 700);
  REQUIRE(mgemm_context_synchronize(context) == MGEMM_DEVICE_LOST);
  REQUIRE(last_error_has("the context was lost"));
  REQUIRE(mgemm_context_destroy(context) == MGEMM_OK);
}

// Catches a kernel that spills being used, and one that is excluded taking its siblings with it.
TEST_CASE("a kernel that spills is excluded and the next best serves") {
  FakeBoard board;
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:700x300x700");
  const std::string first = [&] {
    const mamba_gemm::Context gpu = FakeBoard::context();
    return std::string(mamba_gemm::Plan(gpu, problem, 16).describe().kernel);
  }();
  board.driver.set_function_attribute(first, cuda::FunctionAttribute::LocalSizeBytes, 8);
  mgemm_set_log(MGEMM_LOG_OFF, nullptr, nullptr);
  // The context before was the last on its CUDA context, so modules are loaded anew.
  const std::string second = [&] {
    const mamba_gemm::Context gpu = FakeBoard::context();
    return std::string(mamba_gemm::Plan(gpu, problem, 16).describe().kernel);
  }();
  REQUIRE(second != first);
  REQUIRE_FALSE(second.empty());
  for (const KernelRow& row : catalogue()) {
    board.driver.set_function_attribute(std::string(row.symbol.view()), cuda::FunctionAttribute::LocalSizeBytes, 8);
  }
  const mamba_gemm::Context none = FakeBoard::context();
  mgemm_plan plan = 0;
  REQUIRE(mgemm_plan_create(&plan, none.handle(), &problem, 16) == MGEMM_EXCLUDED);
  REQUIRE(last_error_has("spills 8 bytes a thread"));
  mgemm_set_log(MGEMM_LOG_WARN, nullptr, nullptr);
}

// Catches contexts on a device other than the one asked for.
TEST_CASE("contexts, devices and streams of others are refused by name") {
  fake::Driver driver({fake::DeviceFacts{}, fake::DeviceFacts{}});
  const fake::Nvrtc nvrtc;
  mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
  mgemm_context context = 0;
  options.ordinal = 2;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_NO_DEVICE);
  REQUIRE(last_error_has("options.ordinal is 2; there are 2 CUDA devices"));
  options.ordinal = 0;
  options.cu_context = reinterpret_cast<std::uint64_t>(driver.make_context(1));
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_WRONG_CONTEXT);
  REQUIRE(last_error_has("belongs to device 1, but options.ordinal is 0"));
  options.ordinal = 1;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_OK);
  REQUIRE(driver.live().primary_retains == 0);
  mamba_gemm::Context other = mamba_gemm::Context::cuda(0);
  REQUIRE(mgemm_context_set_stream(context, other.stream()) == MGEMM_WRONG_CONTEXT);
  REQUIRE(mgemm_context_wait_stream(context, other.stream()) == MGEMM_WRONG_CONTEXT);
  REQUIRE(mgemm_context_set_stream(context, 0) == MGEMM_OK);
  REQUIRE(mgemm_context_destroy(context) == MGEMM_OK);
}

TEST_CASE("a device below sm_80 is refused by name") {
  fake::DeviceFacts old;
  old.name = "Old Board";
  old.attributes[cuda::DeviceAttribute::ComputeCapabilityMajor] = 7;
  old.attributes[cuda::DeviceAttribute::ComputeCapabilityMinor] = 5;
  const fake::Driver driver({old});
  mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
  mgemm_context context = 0;
  REQUIRE(mgemm_context_create(&context, &options) == MGEMM_UNSUPPORTED);
  REQUIRE(last_error_has("Old Board) has compute capability 7.5"));
}

// Catches operands of another board, or of no board, reaching a kernel.
TEST_CASE("operands on another device or unknown to the driver are refused by name") {
  const fake::Driver driver({fake::DeviceFacts{}, fake::DeviceFacts{}});
  const fake::Nvrtc nvrtc;
  mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
  options.cache_dir = "off";
  const mamba_gemm::Context first(options);
  options.ordinal = 1;
  const mamba_gemm::Context second(options);
  const mamba_gemm::Buffer a(first, 64);
  const mamba_gemm::Buffer b(second, 64);
  const mamba_gemm::Buffer out(first, 64);
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:4x4x4");
  mgemm_operands operands = mamba_gemm::operands(a.address(), b.address(), out.address());
  REQUIRE(mgemm_gemm(first.handle(), &problem, &operands) == MGEMM_WRONG_CONTEXT);
  REQUIRE(last_error_has("operands.b at 0x"));
  REQUIRE(last_error_has("lies on device 1, the context is on device 0"));
  const std::vector<float> host(16);
  operands.b = mamba_gemm::host_address(host.data());
  REQUIRE(mgemm_gemm(first.handle(), &problem, &operands) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(last_error_has("operands.b is 0x"));
  REQUIRE(driver.launches().empty());
}

// Catches bad input that is noticed only after something was launched, on the device where it matters.
TEST_CASE("bad input launches nothing on a CUDA context") {
  const FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mamba_gemm::Buffer memory(gpu, 4096);
  const mgemm_problem good = mamba_gemm::parse_problem("nn:f32:4x4x4");
  const mgemm_operands fine = mamba_gemm::operands(memory.address(), memory.address() + 1024, memory.address() + 2048);
  const auto refused = [&](auto change) {
    mgemm_problem problem = good;
    mgemm_operands operands = fine;
    change(problem, operands);
    REQUIRE(mgemm_gemm(gpu.handle(), &problem, &operands) == MGEMM_INVALID_ARGUMENT);
  };
  refused([](auto& p, auto&) { p.m = -1; });
  refused([](auto& p, auto&) { p.lda = 3; });
  refused([](auto& p, auto&) { p.op = 9; });
  refused([](auto& p, auto&) { p.struct_size = 8; });
  refused([](auto& p, auto&) { p.reserved[0] = 1; });
  refused([](auto&, auto& o) { o.a = 0; });
  refused([](auto&, auto& o) { o.b += 2; });
  refused([](auto&, auto& o) { o.out = o.a + 16; });
  refused([](auto&, auto& o) { o.out += 2048 - 32; });  // runs past its allocation
  REQUIRE(mgemm_gemm(gpu.handle(), nullptr, &fine) == MGEMM_INVALID_ARGUMENT);
  REQUIRE(mgemm_gemm(gpu.handle(), &good, nullptr) == MGEMM_INVALID_ARGUMENT);
  mgemm_plan plan = 0;
  const mgemm_problem huge = mamba_gemm::parse_problem("nn:f32:2147483647x1x536870912");
  REQUIRE(mgemm_plan_create(&plan, gpu.handle(), &huge, 0) == MGEMM_UNSUPPORTED);
  REQUIRE(last_error_has("more tiles than a grid of 2^31 - 1 blocks holds"));
  REQUIRE(board.driver.launches().empty());
}

// Catches a log callback that is called while the library holds a lock that another call needs.
TEST_CASE("a log callback may wait for another thread that plans the same module") {
  const FakeBoard board;
  struct Waiter {
    bool done = false;
    mgemm_status status = MGEMM_INTERNAL;
  };
  Waiter waiter;
  const auto on_message = [](std::int32_t, const char* message, void* user) {
    auto& state = *static_cast<Waiter*>(user);
    if (state.done || std::string(message).find("compiling") != 0) return;
    state.done = true;
    std::thread([&] {
      const mamba_gemm::Context other = FakeBoard::context();
      const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:5x6x7");
      mgemm_plan plan = 0;
      state.status = mgemm_plan_create(&plan, other.handle(), &problem, 0);
    }).join();
  };
  const mamba_gemm::Context gpu = FakeBoard::context();
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_INFO, on_message, &waiter));
  const mamba_gemm::Plan plan(gpu, mamba_gemm::parse_problem("nn:f32:5x6x7"));
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_WARN, nullptr, nullptr));
  REQUIRE(waiter.done);
  REQUIRE(waiter.status == MGEMM_OK);
}
