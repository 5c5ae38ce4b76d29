// Every kernel on every target, without a device.
#include "module/inventory.hpp"

#include <set>
#include <string>
#include <vector>

#include "catalogue/targets.hpp"
#include "compile/assemble_protocol.hpp"
#include "compile/compiler.hpp"
#include "compile/nvrtc_table.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "support/environment.hpp"
#include "support/raises.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

struct Row {
  std::string kernel, target, reason;
  std::int32_t state = 0, registers = 0, local_bytes = 0;
};

std::vector<Row> rows_of(const std::string& targets, bool compile, const char* cache, std::int32_t threads = 0) {
  std::vector<Row> rows;
  mamba_gemm::for_each_kernel(
      targets, compile,
      [&](const mgemm_kernel_info& kernel) {
        CHECK(kernel.struct_size == sizeof kernel);
        rows.push_back(
            {kernel.kernel, kernel.target, kernel.reason, kernel.state, kernel.registers, kernel.local_bytes});
      },
      cache, threads);
  return rows;
}

bool is_held(const KernelRow& row, const CompileTarget& target) { return holds(row, board_of(target)); }

}  // namespace

// Catches a spelling that is not understood, an order that depends on the caller's, and a target that is made up.
TEST_CASE("inventory: targets in every spelling") {
  const auto names = [](std::string_view text) {
    std::vector<std::string_view> exact;
    for (const CompileTarget* target : parse_targets(text)) exact.push_back(target->exact);
    return exact;
  };
  CHECK(names("all").size() == compile_targets.size());
  CHECK(names("sm_90a") == std::vector<std::string_view>{"compute_90a"});
  CHECK(names("120a,compute_80,sm_80") == std::vector<std::string_view>{"compute_80", "compute_120a"});
  for (const char* wrong : {"", "sm_", "90", "sm_90", "sm_90a,", ",sm_90a", "sm_75", "all,sm_80", "sm_90a sm_80"}) {
    CAPTURE(wrong);
    const Error error = error_of([&] { parse_targets(wrong); });
    CHECK(error.status() == MGEMM_INVALID_ARGUMENT);
    CHECK(std::string(error.what()).find("sm_121a") != std::string::npos);
  }
}

// Catches an architecture that is left without a kernel for some operation by its shared memory.
TEST_CASE("inventory: every target keeps a kernel for each operation, type, slice mode and alignment") {
  for (const CompileTarget& target : compile_targets) {
    std::set<std::tuple<Op, Type, Type, SliceMode, std::int32_t>> all;
    std::set<std::tuple<Op, Type, Type, SliceMode, std::int32_t>> held;
    for (const KernelRow& row : catalogue()) {
      const std::tuple need{row.op, row.in_type, row.out_type, row.slices, row.alignment};
      all.insert(need);
      if (is_held(row, target)) held.insert(need);
    }
    CAPTURE(target.exact);
    CHECK(held == all);
  }
}

// Catches kernels left out, given twice or out of order, and a callback that cannot stop it.
TEST_CASE("inventory: a list of all kernels, in order, until it is stopped") {
  const std::vector<Row> rows = rows_of("sm_80,sm_90a", false, "off");
  std::size_t next = 0;
  for (const CompileTarget& target : compile_targets) {
    const std::string name = machine_target(target.exact);
    if (name != "sm_80" && name != "sm_90a") continue;
    for (const KernelRow& row : catalogue()) {
      if (!is_held(row, target)) continue;
      REQUIRE(next < rows.size());
      CHECK(rows[next].kernel == row.symbol.view());
      CHECK(rows[next].target == name);
      CHECK(rows[next].state == MGEMM_KERNEL_LISTED);
      ++next;
    }
  }
  CHECK(next == rows.size());
  int seen = 0;
  const auto stop_at_three = [](const mgemm_kernel_info*, void* user) -> std::int32_t {
    return ++*static_cast<int*>(user) == 3 ? 1 : 0;
  };
  CHECK(mgemm_kernels("all", 0, 0, "off", stop_at_three, &seen) == MGEMM_CANCELLED);
  CHECK(seen == 3);
  CHECK(mgemm_kernels("all", 0, 0, "off", nullptr, nullptr) == MGEMM_INVALID_ARGUMENT);
  CHECK(mgemm_kernels(nullptr, 0, 0, "off", stop_at_three, &seen) == MGEMM_INVALID_ARGUMENT);
  CHECK(mgemm_kernels("all", 2, 0, "off", stop_at_three, &seen) == MGEMM_INVALID_ARGUMENT);
  CHECK(mgemm_kernels("all", 0, -1, "off", stop_at_three, &seen) == MGEMM_INVALID_ARGUMENT);
  CHECK(mgemm_kernels("all", 0, 0, "relative", stop_at_three, &seen) == MGEMM_INVALID_ARGUMENT);
}

// Catches a failure that ends the list, and one without its reason.
TEST_CASE("inventory: what cannot be compiled says why") {
  if (!nvrtc_by_name(process_environment(), 0)) MGEMM_SKIP("no NVRTC on this machine");
  const TempFolder folder;
  const std::string crash = write_script(folder.path() / "crash", "kill -SEGV $$");
  std::string value;
  std::string words;
  SECTION("no program") {
    value = "off";
    words = "MAMBA_GEMM_HELPER is 'off'";
  }
  SECTION("one that crashes") {
    value = crash;
    words = "SIGSEGV";
  }
  const Variable helper("MAMBA_GEMM_HELPER", value);
  const std::vector<Row> rows = rows_of("sm_90a", true, "off");
  REQUIRE(rows.size() == catalogue().size());
  for (const Row& row : rows) {
    CHECK(row.state == MGEMM_KERNEL_FAILED);
    CHECK(row.reason.find(words) != std::string::npos);
  }
}

// Catches facts that are not read, on real code of the real assembler, and spills. (tools/test does the same for all
// kernels and targets.)
TEST_CASE("inventory: this machine's NVRTC makes kernels") {
  if (!nvrtc_by_name(process_environment(), 0)) MGEMM_SKIP("no NVRTC on this machine");
  const TempFolder folder;
  const Variable helper("MAMBA_GEMM_HELPER", MGEMM_HELPER_PATH);
  const std::string cache = (folder.path() / "cache").string();
  int seen = 0;
  const auto examine = [](const mgemm_kernel_info* kernel, void* user) -> std::int32_t {
    CAPTURE(kernel->kernel, kernel->reason);
    CHECK(kernel->state == MGEMM_KERNEL_READY);
    CHECK(kernel->registers >= 16);
    CHECK(kernel->local_bytes == 0);
    CHECK(kernel->seconds > 0);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  CHECK(mgemm_kernels("sm_90a", 1, 1, cache.c_str(), examine, &seen) == MGEMM_CANCELLED);
  CHECK(seen == 2);
}
