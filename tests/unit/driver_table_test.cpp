#include "device/driver_table.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device/driver_load.hpp"
#include "fake_cuda/fake_driver.hpp"
#include "support/raises.hpp"
#include "support/test.hpp"

using mgemm::DriverTable;
using mgemm::Error;
using mgemm::LoadedDriver;
using mgemm::cuda::Result;
using mgemm::test::error_of;

namespace {

std::string fake_library(const std::string& name) { return std::string(MGEMM_FAKE_LIBRARIES) + "/" + name + ".so"; }

LoadedDriver load(const std::string& name) { return mgemm::load_driver(fake_library(name).c_str()); }

template <typename F>
F* function_in(const std::string& library, const char* name) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  return reinterpret_cast<F*>(dlsym(handle, name));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

// Catches: a driver that cannot be opened taken for a crash, or an error that does not say which file and why.
TEST_CASE("driver: a missing library is no device, and the text names it") {
  const LoadedDriver loaded = mgemm::load_driver("libcuda-that-is-not-there.so.1");
  CHECK(loaded.status == MGEMM_NO_DEVICE);
  CHECK(contains(loaded.reason, "libcuda-that-is-not-there.so.1 could not be opened"));
  CHECK(contains(loaded.reason, "No such file"));
}

// Catches: asking for a newer signature than the table declares, or for the per-thread default stream.
TEST_CASE("driver: every function is asked for at its fixed version and the legacy stream, and cuInit runs once") {
  const LoadedDriver loaded = load("driver_12_4");
  REQUIRE(loaded.status == MGEMM_OK);
  CHECK(loaded.version == 12040);
  const std::string requests = function_in<const char*()>(fake_library("driver_12_4"), "fake_requests")();
  for (const char* expected :
       {"cuMemAlloc@3020/1 ", "cuCtxGetDevice@2000/1 ", "cuStreamGetCtx@9020/1 ", "cuEventElapsedTime@2000/1 ",
        "cuDevicePrimaryCtxRelease@11000/1 ", "cuLaunchKernel@4000/1 ", "cuMemcpy2DAsync@3020/1 ",
        "cuDeviceGetUuid@11040/1 ", "cuCtxGetId@12000/1 ", "cuStreamDestroy@4000/1 ", "cuEventDestroy@4000/1 "}) {
    CHECK(contains(requests, expected));
  }
  CHECK(!contains(requests, "/0 "));
  CHECK(!contains(requests, "_v2"));
  CHECK(function_in<int()>(fake_library("driver_12_4"), "fake_init_count")() == 1);
}

// Catches: a table with a null member that a later call would jump to.
TEST_CASE("driver: no member of a loaded table is null") {
  const LoadedDriver loaded = load("driver_12_4");
  REQUIRE(loaded.status == MGEMM_OK);
  std::array<void*, sizeof(DriverTable) / sizeof(void*)> members{};
  std::memcpy(members.data(), &loaded.table, sizeof(DriverTable));
  for (const void* member : members) CHECK(member != nullptr);
}

// Catches: an old driver that fails much later with something obscure.
TEST_CASE("driver: one older than 12.4 is unsupported, naming both versions") {
  const LoadedDriver loaded = load("driver_12_2");
  CHECK(loaded.status == MGEMM_UNSUPPORTED);
  CHECK(contains(loaded.reason, "12.2"));
  CHECK(contains(loaded.reason, "12.4"));
  CHECK(contains(loaded.reason, "550"));
}

// Catches: a half-filled table taken for a driver.
TEST_CASE("driver: a missing function disqualifies it by name") {
  const LoadedDriver incomplete = load("driver_incomplete");
  CHECK(incomplete.status == MGEMM_NO_DEVICE);
  CHECK(contains(incomplete.reason, "lacks cuMemAlloc of CUDA 3.2"));
  const LoadedDriver no_proc = load("driver_no_proc");
  CHECK(no_proc.status == MGEMM_NO_DEVICE);
  CHECK(contains(no_proc.reason, "cuGetProcAddress_v2"));
}

// Catches: "no GPU in this machine" and "the driver is broken" mixed up.
TEST_CASE("driver: what cuInit answers tells an absent device from a failing driver") {
  const LoadedDriver absent = load("driver_no_device");
  CHECK(absent.status == MGEMM_NO_DEVICE);
  CHECK(absent.code == 100);
  CHECK(contains(absent.reason, "cuInit"));
  const LoadedDriver broken = load("driver_broken");
  CHECK(broken.status == MGEMM_DRIVER);
  CHECK(broken.code == 803);
  CHECK(contains(broken.reason, "CUDA_ERROR_OF_THE_FAKE (803)"));
}

// Catches: a child process that calls into a driver its parent initialised, which hangs or fails obscurely.
TEST_CASE("driver: what a parent process initialised is not usable in a child") {
  const LoadedDriver loaded = load("driver_12_4");
  CHECK(!mgemm::inherited(loaded));
  const pid_t child = fork();
  if (child == 0) _exit(mgemm::inherited(loaded) ? 0 : 1);
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// Catches: the toolkit's link stub, where one is in the way, taken for a driver.
TEST_CASE("driver: the toolkit's stub is no device") {
  const LoadedDriver loaded = mgemm::load_driver("/usr/local/cuda/lib64/stubs/libcuda.so");
  if (contains(loaded.reason, "could not be opened")) MGEMM_SKIP("no stub is installed");
  CHECK(loaded.status == MGEMM_NO_DEVICE);
  CHECK(loaded.code == 34);
  CHECK(contains(loaded.reason, "stub"));
}

// Catches: a data race in the first use, or several cuInit.
TEST_CASE("driver: eight threads that ask first get one answer") {
  std::array<const DriverTable*, 8> answers{};
  {
    std::vector<std::jthread> threads;
    for (const DriverTable*& answer : answers) threads.emplace_back([&answer] { answer = mgemm::find_driver(); });
  }
  for (const DriverTable* answer : answers) CHECK(answer == answers[0]);
  if (answers[0] == nullptr) {
    CHECK(!mgemm::driver_reason().empty());
    CHECK(mgemm::driver_version() == 0);
    const Error error = error_of([] { mgemm::driver(); });
    CHECK(contains(error.what(), mgemm::driver_reason()));
  } else {
    CHECK(mgemm::driver_reason().empty());
    CHECK(mgemm::driver_version() >= mgemm::oldest_driver_version);
  }
}

// Catches: a substitute that is not used or not taken back.
TEST_CASE("driver: a substitute serves while it is there") {
  const DriverTable* const before = mgemm::find_driver();
  {
    const mgemm::fake::Driver fake;
    CHECK(mgemm::find_driver() == &mgemm::fake::Driver::table());
    CHECK(&mgemm::driver() == &mgemm::fake::Driver::table());
    CHECK(mgemm::driver_version() == 13000);
    CHECK(mgemm::driver_reason().empty());
  }
  CHECK(mgemm::find_driver() == before);
}

// Catches: a status that hides out of memory or a lost context, or a text without the call, the error and what was
// asked.
TEST_CASE("driver: check translates results") {
  const mgemm::fake::Driver fake;
  CHECK_NOTHROW(mgemm::check(Result::Success, "cuMemFree"));

  const Error plain = error_of([] { mgemm::check(Result::InvalidValue, "cuMemFree"); });
  CHECK(plain.status() == MGEMM_DRIVER);
  CHECK(plain.driver_code() == 1);
  CHECK(std::string(plain.what()) == "cuMemFree failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument");

  const Error memory = error_of([] { mgemm::check(Result::OutOfMemory, "cuMemAlloc", "{} bytes", 512); });
  CHECK(memory.status() == MGEMM_OUT_OF_MEMORY);
  CHECK(memory.driver_code() == 2);
  CHECK(contains(memory.what(), "cuMemAlloc (512 bytes) failed: CUDA_ERROR_OUT_OF_MEMORY"));

  for (const int code : {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    const Error lost = error_of([&] { mgemm::check(static_cast<Result>(code), "cuStreamSynchronize"); });
    CHECK(lost.status() == MGEMM_DEVICE_LOST);
    CHECK(lost.driver_code() == code);
    CHECK(contains(lost.what(), "an earlier launch, possibly not ours, has faulted"));
  }
  for (const int code : {600, 701, 900, 999, 12345}) {
    const Error other = error_of([&] { mgemm::check(static_cast<Result>(code), "cuLaunchKernel"); });
    CHECK(other.status() == MGEMM_DRIVER);
    CHECK(contains(other.what(), std::to_string(code)));
  }
}

// Catches: an error path that itself needs a driver.
TEST_CASE("driver: check works without a driver") {
  const Error error = error_of([] { mgemm::check(static_cast<Result>(12345), "cuInit"); });
  CHECK(error.status() == MGEMM_DRIVER);
  CHECK(contains(error.what(), "12345"));
}
