// Host memory that runs out in the middle of a call.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "failing_new.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

using mgemm::test::fail_allocation_after;
using mgemm::test::stop_failing;

namespace {

constexpr std::size_t capacity = 1 << 16;

/// Makes every allocation of a call fail in turn, one in each of many calls: the call must say that memory ran out, or
/// do without that allocation and give what it always gives.
template <typename Call>
void check_every_failure(Call call) {
  std::vector<char> buffer(capacity);
  std::vector<std::string> texts;
  std::int64_t failures = 0;
  for (std::int64_t turn = 0;; ++turn) {
    fail_allocation_after(turn);
    const mgemm_status status = call(buffer.data(), buffer.size());
    const bool is_complete = stop_failing() <= turn;
    if (status == MGEMM_OK) {
      texts.emplace_back(buffer.data());
    } else {
      ++failures;
      CAPTURE(turn, mgemm_last_error());
      REQUIRE(status == MGEMM_OUT_OF_MEMORY);
    }
    if (is_complete) break;
  }
  CHECK(failures > 5);  // else it is not our operator new that the library calls
  for (const std::string& text : texts) CHECK(text == texts.back());
}

}  // namespace

// Catches a description whose making ends the process for want of memory. The first calls look for driver, compiler and
// helper too.
TEST_CASE("the environment when memory runs out") {
  REQUIRE(::setenv("MAMBA_GEMM_NVRTC", "/nowhere/libnvrtc.so", 1) == 0);
  check_every_failure([](char* buffer, std::size_t size) { return mgemm_environment_json(buffer, size, nullptr); });
}

// The same of a plan and a launch.
TEST_CASE("descriptions when memory runs out") {
  const mamba_gemm::Context context = mamba_gemm::Context::reference(1);
  const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:3x4x5:bias");
  std::vector<float> data(64);
  const std::uint64_t address = mamba_gemm::host_address(data.data());
  const mamba_gemm::Plan plan(context, problem);
  const mamba_gemm::Launch launch(plan, mamba_gemm::operands(address, address, address + 128, address));
  check_every_failure(
      [&](char* buffer, std::size_t size) { return mgemm_plan_describe_json(plan.handle(), buffer, size, nullptr); });
  check_every_failure([&](char* buffer, std::size_t size) {
    return mgemm_launch_describe_json(launch.handle(), buffer, size, nullptr);
  });
}

// The same of a cache, and memory that ran out taken for an empty or a bad one.
TEST_CASE("the cache's descriptions when memory runs out") {
  const mgemm::test::TempFolder folder;
  for (const char digit : {'a', 'b'}) {
    std::ofstream(folder.path() / (std::string(64, digit) + ".ptx")) << "not an entry";
  }
  const std::string name = folder.path().string();
  check_every_failure(
      [&](char* buffer, std::size_t size) { return mgemm_cache_list_json(name.c_str(), buffer, size, nullptr); });
  check_every_failure(
      [&](char* buffer, std::size_t size) { return mgemm_cache_totals_json(name.c_str(), buffer, size, nullptr); });
  check_every_failure([&](char* buffer, std::size_t size) {
    mgemm_cache_report report{};
    report.struct_size = sizeof report;
    const mgemm_status status = mgemm_cache_verify(name.c_str(), 0, &report);
    std::snprintf(buffer, size, "%d bad", static_cast<int>(report.bad));
    return status;
  });
}
