// The fake driver itself: tests that lean on it are worth as much as it is strict.
#include "fake_cuda/fake_driver.hpp"

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fake_cuda/ptx_text.hpp"
#include "support/test.hpp"

namespace cuda = mgemm::cuda;
using cuda::Result;
using mgemm::fake::Driver;

namespace {

const mgemm::DriverTable& table() { return Driver::table(); }

cuda::Context enter_primary() {
  cuda::Context context = nullptr;
  REQUIRE(table().cuDevicePrimaryCtxRetain(&context, 0) == Result::Success);
  REQUIRE(table().cuCtxPushCurrent(context) == Result::Success);
  return context;
}

}  // namespace

// Catches: a fake that forgets objects, so that leaks pass.
TEST_CASE("fake driver: counts what lives and what was called") {
  Driver fake;
  enter_primary();
  cuda::Stream stream = nullptr;
  cuda::Event event = nullptr;
  cuda::DevicePtr memory = 0;
  CHECK(table().cuStreamCreate(&stream, cuda::stream_non_blocking) == Result::Success);
  CHECK(table().cuEventCreate(&event, cuda::event_default) == Result::Success);
  CHECK(table().cuMemAlloc(&memory, 1000) == Result::Success);
  CHECK(memory % 256 == 0);
  CHECK(fake.live() == mgemm::fake::LiveObjects{1, 1, 1, 1, 0});
  CHECK(table().cuMemFree(memory) == Result::Success);
  CHECK(table().cuMemFree(memory) == Result::InvalidValue);
  CHECK(table().cuEventDestroy(event) == Result::Success);
  CHECK(table().cuStreamDestroy(stream) == Result::Success);
  CHECK(table().cuStreamDestroy(stream) == Result::InvalidHandle);
  CHECK(table().cuDevicePrimaryCtxRelease(0) == Result::Success);
  CHECK(table().cuDevicePrimaryCtxRelease(0) == Result::InvalidContext);
  CHECK(fake.live() == mgemm::fake::LiveObjects{});
  CHECK(fake.calls("cuMemFree") == 2);
  CHECK(fake.calls("cuMemAlloc") == 1);
  CHECK(fake.calls("cuLaunchKernel") == 0);
}

// Catches: calls that would work here and fail on a device for want of a current context.
TEST_CASE("fake driver: contexts are a stack per thread") {
  Driver fake;
  cuda::DevicePtr memory = 0;
  CHECK(table().cuMemAlloc(&memory, 4) == Result::InvalidContext);
  const cuda::Context primary = enter_primary();
  const cuda::Context own = fake.make_context(0);
  CHECK(table().cuCtxPushCurrent(own) == Result::Success);
  CHECK(Driver::context_stack() == std::vector{primary, own});
  std::jthread([&] {
    cuda::Context current = primary;
    CHECK(table().cuCtxGetCurrent(&current) == Result::Success);
    CHECK(current == nullptr);
  }).join();
  unsigned long long first = 0;
  unsigned long long second = 0;
  CHECK(table().cuCtxGetId(primary, &first) == Result::Success);
  CHECK(table().cuCtxGetId(own, &second) == Result::Success);
  CHECK(first != second);
}

// Catches: a copy outside its allocation that memory luck would let pass.
TEST_CASE("fake driver: copies stay inside allocations") {
  const Driver fake;
  enter_primary();
  cuda::DevicePtr memory = 0;
  REQUIRE(table().cuMemAlloc(&memory, 64) == Result::Success);
  std::array<float, 16> host{};
  host.fill(2.5F);
  CHECK(table().cuMemcpyHtoDAsync(memory, host.data(), 64, nullptr) == Result::Success);
  CHECK(table().cuMemcpyHtoDAsync(memory + 4, host.data(), 64, nullptr) == Result::InvalidValue);
  CHECK(table().cuMemcpyDtoHAsync(host.data(), memory + 60, 8, nullptr) == Result::InvalidValue);
  CHECK(table().cuMemsetD32Async(memory, 7, 17, nullptr) == Result::InvalidValue);

  // A 2 x 2 block of 4-byte words out of rows of 4 words.
  const std::array<unsigned, 8> source{0, 1, 2, 3, 4, 5, 6, 7};
  cuda::Memcpy2D copy;
  copy.src_type = cuda::MemoryType::Host;
  copy.src_host = source.data();
  copy.src_x_bytes = 4;
  copy.src_pitch = 16;
  copy.dst_device = memory;
  copy.dst_pitch = 8;
  copy.width_bytes = 8;
  copy.height = 2;
  CHECK(table().cuMemcpy2DAsync(&copy, nullptr) == Result::Success);
  std::array<unsigned, 4> block{};
  CHECK(table().cuMemcpyDtoHAsync(block.data(), memory, 16, nullptr) == Result::Success);
  CHECK(block == std::array<unsigned, 4>{1, 2, 5, 6});
  copy.dst_y = 7;
  CHECK(table().cuMemcpy2DAsync(&copy, nullptr) == Result::InvalidValue);

  cuda::DevicePtr start = 0;
  CHECK(table().cuPointerGetAttribute(&start, cuda::PointerAttribute::RangeStartAddr, memory + 12) == Result::Success);
  CHECK(start == memory);
  CHECK(table().cuPointerGetAttribute(&start, cuda::PointerAttribute::RangeStartAddr, 16) == Result::InvalidValue);
}

// Catches: a launch recorded without its arguments, which tests compare.
TEST_CASE("fake driver: launches are recorded with their argument bytes") {
  Driver fake;
  enter_primary();
  const std::string ptx =
      mgemm::fake::entry_text({"kernel", {{4, 4}, {8, 8}}}) + ".visible .entry other(\n.param .u64 p\n)\n";
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  REQUIRE(table().cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr) == Result::Success);
  CHECK(table().cuModuleGetFunction(&function, module, "missing") == Result::NotFound);
  CHECK(table().cuModuleGetFunction(&function, module, "other") == Result::Success);
  REQUIRE(table().cuModuleGetFunction(&function, module, "kernel") == Result::Success);

  int hooked = 0;
  fake.on_launch([&](const mgemm::fake::Launch& launch) { hooked += static_cast<int>(launch.grid[0]); });
  float first = 1.5F;
  double second = -2;
  std::array<void*, 2> parameters{&first, &second};
  CHECK(table().cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 49153, nullptr, parameters.data(), nullptr) ==
        Result::InvalidValue);
  CHECK(table().cuFuncSetAttribute(function, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, 232449) ==
        Result::InvalidValue);
  CHECK(table().cuFuncSetAttribute(function, cuda::FunctionAttribute::MaxDynamicSharedSizeBytes, 65536) ==
        Result::Success);
  REQUIRE(table().cuLaunchKernel(function, 3, 1, 1, 128, 1, 1, 49153, nullptr, parameters.data(), nullptr) ==
          Result::Success);
  CHECK(hooked == 3);
  const auto launches = fake.launches();
  REQUIRE(launches.size() == 1);
  CHECK(launches[0].kernel == "kernel");
  REQUIRE(launches[0].arguments.size() == 16);
  CHECK(std::memcmp(launches[0].arguments.data(), &first, 4) == 0);
  CHECK(std::memcmp(launches[0].arguments.data() + 8, &second, 8) == 0);
  CHECK(table().cuModuleUnload(module) == Result::Success);
  CHECK(table().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(), nullptr) ==
        Result::InvalidHandle);
}

// Catches: an injected failure that hits the wrong call, or stays.
TEST_CASE("fake driver: the n-th call fails once, a fault stays") {
  Driver fake;
  enter_primary();
  fake.fail_nth("cuMemAlloc", 2, Result::OutOfMemory);
  cuda::DevicePtr memory = 0;
  CHECK(table().cuMemAlloc(&memory, 4) == Result::Success);
  CHECK(table().cuMemAlloc(&memory, 4) == Result::OutOfMemory);
  CHECK(table().cuMemAlloc(&memory, 4) == Result::Success);
  fake.fail_nth_of_all(2, Result::Unknown);
  CHECK(table().cuMemFree(memory) == Result::Success);
  CHECK(fake.failed_call() == "");
  CHECK(table().cuStreamSynchronize(nullptr) == Result::Unknown);
  CHECK(fake.failed_call() == "cuStreamSynchronize");
  CHECK(table().cuStreamSynchronize(nullptr) == Result::Success);
  fake.poison(Result::IllegalAddress);
  CHECK(table().cuMemAlloc(&memory, 4) == Result::IllegalAddress);
  CHECK(table().cuStreamSynchronize(nullptr) == Result::IllegalAddress);
}

// Catches: a call that is left out of the sequence, because it fails or because it was taken before.
TEST_CASE("fake driver: every call is in the sequence once") {
  Driver fake;
  enter_primary();
  fake.fail_nth("cuMemAlloc", 1, Result::OutOfMemory);
  cuda::DevicePtr memory = 0;
  CHECK(table().cuMemAlloc(&memory, 4) == Result::OutOfMemory);
  CHECK(fake.take_sequence() == std::vector<std::string>{"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuMemAlloc"});
  CHECK(table().cuMemAlloc(&memory, 4) == Result::Success);
  CHECK(fake.take_sequence() == std::vector<std::string>{"cuMemAlloc"});
}

// Catches: arguments read with the wrong size, from the declarations a real compiler writes.
TEST_CASE("fake driver: parameters are read from the entry's declarations") {
  using mgemm::fake::Parameter;
  const auto entries = mgemm::fake::entries_in(
      ".visible .entry one(\n\t.param .u64 .ptr .align 1 one_param_0,\n\t.param .align 8 .b8 one_param_1[96],\n"
      "\t.param .f32 one_param_2\n)\n.maxntid 128, 1, 1\n{\n}\n.visible .entry two()\n{\n}\n.entry three\n{\n}\n");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "one");
  CHECK(entries[0].parameters == std::vector<Parameter>{{8, 8}, {96, 8}, {4, 4}});
  CHECK(entries[1].parameters.empty());
  CHECK(entries[2].name == "three");
}
