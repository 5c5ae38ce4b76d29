// Which code of a module is loaded, on the fake driver, with a helper program that does what a test says.
#include "module/module_code.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "cache/inspect.hpp"
#include "compile/assemble_protocol.hpp"
#include "compile/compiler.hpp"
#include "compile/module_text.hpp"
#include "fake_cuda/fake_driver.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "fake_cuda/kernel.hpp"
#include "mamba_gemm/mamba_gemm.hpp"
#include "route/dispatch.hpp"
#include "support/cache.hpp"
#include "support/captured_log.hpp"
#include "support/environment.hpp"
#include "support/raises.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
namespace fs = std::filesystem;

/// A fake board, compiler and helper program, which notes each of its runs.
class Machine {
 public:
  /// `commands` of the helper after it has read its request; "cat $R" is a good answer.
  explicit Machine(std::string_view module, const std::string& commands) : module_(module) {
    const std::string symbol = "mgemm_" + std::string(module);
    nvrtc_.set_parameters(symbol, {fake::parameter_of(*find_kernel(symbol))});
    const Compiled compiled =
        compile(fake::Nvrtc::table(), {std::string(module), module_text(module), {}, "compute_90a"});
    write_bytes(folder_.path() / "response", encode_response({MGEMM_OK, {13, 0}, "", "\177ELF" + compiled.ptx + '\0'}));
    compiles_before_ = static_cast<int>(nvrtc_.compiles().size());
    const std::string home = folder_.path().string();
    const std::string helper =
        write_script(folder_.path() / "helper", "cat >/dev/null; RUNS='" + home + "/runs'; echo x >> $RUNS; R='" +
                                                    home + "/response'; " + commands);
    helper_ = std::make_unique<Variable>("MAMBA_GEMM_HELPER", helper);
    driver_.on_launch(fake::compute);
  }

  ModuleRequest request() const { return {module_, 9, 0, 0, cache().string()}; }
  fs::path cache() const { return folder_.path() / "cache"; }
  int helper_runs() const {
    std::ifstream runs(folder_.path() / "runs");
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(runs), std::istreambuf_iterator<char>(), 'x'));
  }
  int compiles() const { return static_cast<int>(nvrtc_.compiles().size()) - compiles_before_; }
  int entries(Kind kind) const {
    Store store(cache().string());
    return static_cast<int>(cache_totals(store).entries_of_kind.at(index_of(kind)));
  }
  void remove_helper() { name_helper("/nowhere/helper"); }
  void turn_off() { name_helper("off"); }

  /// Loads into a CUDA context of its own; "ptx" or "machine code", by the identity.
  std::string load() {
    CudaDevice device(driver(), 0, driver_.make_context(0));
    const LoadedModule loaded = load_module(device, request());
    REQUIRE(loaded.module != nullptr);
    for (const Identity::Field& field : loaded.identity.compiler.fields()) {
      if (field.tag == "output") return field.value.value_or("");
    }
    return "unknown";
  }

  fake::Driver driver_;
  fake::Nvrtc nvrtc_;

 private:
  void name_helper(const std::string& value) {
    helper_.reset();  // before the next remembers what it replaces
    helper_ = std::make_unique<Variable>("MAMBA_GEMM_HELPER", value);
  }

  std::string_view module_;
  TempFolder folder_;
  int compiles_before_ = 0;
  std::unique_ptr<Variable> helper_;
};

}  // namespace

// Catches machine code that is not made, not kept, not preferred, or made again on a warm start.
TEST_CASE("module code: cold makes both kinds, warm loads the machine code and makes nothing", "[cache]") {
  Machine machine("f32_nn_single_a4_small", "cat $R");
  const Moved moved;
  CHECK(machine.load() == "machine code");
  CHECK(machine.helper_runs() == 1);
  CHECK(machine.compiles() == 1);
  CHECK(machine.entries(Kind::ptx) == 1);
  CHECK(machine.entries(Kind::machine_code) == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.compiles[index_of(Kind::ptx)]; }) == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.compiles[index_of(Kind::machine_code)]; }) == 1);

  machine.remove_helper();  // what is in the cache serves without it
  CHECK(machine.load() == "machine code");
  CHECK(machine.helper_runs() == 1);
  CHECK(machine.compiles() == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.hits[index_of(Kind::machine_code)]; }) == 1);
  CHECK(moved.by([](const CacheCounters& c) { return c.hits[index_of(Kind::ptx)]; }) == 0);

  machine.turn_off();
  CHECK(machine.load() == "ptx");
  CHECK(machine.compiles() == 1);
}

// Catches a missing helper that is an error, or that keeps PTX from being used.
TEST_CASE("module code: without a helper program PTX serves", "[cache]") {
  Machine machine("f32_nn_single_a4_small", "cat $R");
  machine.remove_helper();
  const CapturedLog warnings(MGEMM_LOG_WARN);
  CHECK(machine.load() == "ptx");
  CHECK(machine.load() == "ptx");
  CHECK(machine.compiles() == 1);
  CHECK(machine.helper_runs() == 0);
  CHECK(machine.entries(Kind::machine_code) == 0);
  CHECK_FALSE(warnings.has("machine code"));
}

// Catches a crash of the assembler that is fatal, kept, silent, or tried again for every context of a process.
TEST_CASE("module code: an assembler that crashes is a warning, and PTX serves", "[cache]") {
  // The failure is remembered for the whole process, so no other test may need this module's machine code.
  Machine machine("f32_nt_single_a16_small", "kill -SEGV $$");
  const CapturedLog warnings(MGEMM_LOG_WARN);
  CHECK(machine.load() == "ptx");
  CHECK(warnings.has("no machine code of f32_nt_single_a16_small"));
  CHECK(warnings.has("was killed by SIGSEGV"));
  CHECK(machine.load() == "ptx");
  CHECK(machine.helper_runs() == 2);  // the second to see whether it dies of nothing, too
  CHECK(machine.entries(Kind::machine_code) == 0);
  CHECK(machine.entries(Kind::ptx) == 1);
}

// Catches PTX that goes to the driver's compiler, which has been seen to end the process, after the assembler died of
// it; and a program that dies of everything taken for a module's fault (the test above).
TEST_CASE("module code: what the assembler dies of is not given to the driver either", "[cache]") {
  // The failure is remembered for the whole process, so no other test may need this module.
  Machine machine("f32_nt_single_a16_tall", "[ $(wc -l < $RUNS) = 1 ] && kill -SEGV $$; cat $R");
  const CapturedLog warnings(MGEMM_LOG_WARN);
  for (int times = 0; times < 2; ++times) {
    const Error error = error_of([&] { machine.load(); });
    CHECK(error.status() == MGEMM_COMPILE);
    CHECK(std::string(error.what()).find("died of module f32_nt_single_a16_tall") != std::string::npos);
    CHECK(std::string(error.what()).find("SIGSEGV") != std::string::npos);
  }
  CHECK(warnings.has("its PTX is not used"));
  CHECK(machine.helper_runs() == 2);  // the second to see whether it dies of nothing
  CHECK(machine.driver_.calls("cuModuleLoadDataEx") == 0);
}

// Catches machine code kept and tried for ever although the driver refuses it.
TEST_CASE("module code: what the driver refuses is dropped, and PTX serves this once", "[cache]") {
  Machine machine("f32_nn_single_a4_small", "cat $R");
  const CapturedLog warnings(MGEMM_LOG_WARN);
  const bool warm = GENERATE(false, true);
  if (warm) {
    CHECK(machine.load() == "machine code");
    CHECK(machine.entries(Kind::machine_code) == 1);
  }
  machine.driver_.fail_nth("cuModuleLoadDataEx", 1, cuda::Result::NoBinaryForGpu);
  CHECK(machine.load() == "ptx");
  CHECK(warnings.has("machine code dropped"));
  CHECK(machine.entries(Kind::machine_code) == 0);
  CHECK(machine.entries(Kind::ptx) == 1);
  CHECK(machine.compiles() == 1);
  // The next time it is made anew.
  CHECK(machine.load() == "machine code");
  CHECK(machine.helper_runs() == 2);
}

// Catches a way out that is none: PTX that the driver is too old for, and no word of why there was no machine code.
TEST_CASE("module code: a PTX version the driver refuses", "[cache]") {
  SECTION("machine code serves") {
    Machine machine("f32_nn_single_a4_small", "cat $R");
    machine.driver_.fail_nth("cuModuleLoadDataEx", 2, cuda::Result::UnsupportedPtxVersion);
    CHECK(machine.load() == "machine code");
  }
  SECTION("without it the error says both reasons") {
    Machine machine("f32_tn_single_a16_small", "exit 3");
    machine.driver_.fail_nth("cuModuleLoadDataEx", 1, cuda::Result::UnsupportedPtxVersion);
    const Error error = error_of([&] { machine.load(); });
    CHECK(error.status() == MGEMM_DRIVER);
    CHECK(error.driver_code() == 222);
    CHECK(std::string(error.what()).find("exited with status 3") != std::string::npos);
    CHECK(machine.driver_.live().modules == 0);
  }
}

// Catches an entry that a failing device, not its content, gets removed.
TEST_CASE("module code: out of memory while loading is an error and removes nothing", "[cache]") {
  Machine machine("f32_nn_single_a4_small", "cat $R");
  machine.driver_.fail_nth("cuModuleLoadDataEx", 1, cuda::Result::OutOfMemory);
  CHECK(error_of([&] { machine.load(); }).status() == MGEMM_OUT_OF_MEMORY);
  CHECK(machine.entries(Kind::machine_code) == 1);
}

// Catches a failure of the compiler in this process that keeps good machine code from being used, or is lost.
TEST_CASE("module code: PTX that cannot be compiled", "[cache]") {
  SECTION("machine code serves") {
    Machine machine("f32_nn_single_a4_small", "cat $R");
    machine.nvrtc_.set_outcome(nvrtc_abi::Result::Compilation, "no");
    CHECK(machine.load() == "machine code");
  }
  SECTION("without it the compiler's error is the one") {
    Machine machine("f32_tn_sliced_a16_small", "exit 3");
    machine.nvrtc_.set_outcome(nvrtc_abi::Result::Compilation, "no");
    CHECK(error_of([&] { machine.load(); }).status() == MGEMM_COMPILE);
  }
}

// Catches messages of the assembling thread that reach the user's callback while the library holds a lock.
TEST_CASE("module code: a log callback may plan the same module from another thread", "[cache]") {
  const Problem chosen = problem_from_string("nn:f32:5x6x7");
  const fake::DeviceFacts facts;
  const Board board{facts.attributes.at(cuda::DeviceAttribute::MultiprocessorCount),
                    facts.attributes.at(cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin), true};
  const KernelRow& row = *candidates(chosen, contract_of(chosen, sm90_set), 4, board).front();
  const std::string module(row.module.view());
  Machine machine(row.module.view(), "cat $R");
  struct Waiter {
    std::string cache;
    std::vector<std::string> seen;
    mgemm_status status = MGEMM_INTERNAL;
  };
  Waiter waiter{machine.cache().string(), {}, MGEMM_INTERNAL};
  const auto plan = [](const std::string& cache) {
    mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
    options.cache_dir = cache.c_str();
    const mamba_gemm::Context context(options);
    const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:5x6x7");
    mgemm_plan made = 0;
    return mgemm_plan_create(&made, context.handle(), &problem, 4);
  };
  const auto on_message = [](std::int32_t, const char* message, void* user) {
    auto& state = *static_cast<Waiter*>(user);
    state.seen.emplace_back(message);
    if (state.status != MGEMM_INTERNAL || state.seen.back().find("assembling") != 0) return;
    state.status = MGEMM_OK;
    std::thread([&state] {
      mgemm_context_options options = mamba_gemm::Context::options(MGEMM_DEVICE_CUDA);
      options.cache_dir = state.cache.c_str();
      const mamba_gemm::Context context(options);
      const mgemm_problem problem = mamba_gemm::parse_problem("nn:f32:5x6x7");
      mgemm_plan made = 0;
      state.status = mgemm_plan_create(&made, context.handle(), &problem, 4);
    }).join();
  };
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_INFO, on_message, &waiter));
  const mgemm_status status = plan(waiter.cache);
  mamba_gemm::check(mgemm_set_log(MGEMM_LOG_WARN, nullptr, nullptr));
  CHECK(status == MGEMM_OK);
  CHECK(waiter.status == MGEMM_OK);
  const auto seen = [&](const std::string& words) {
    return std::ranges::any_of(waiter.seen, [&](const std::string& line) { return line.find(words) == 0; });
  };
  CHECK(seen("compiling " + module));
  CHECK(seen("assembling " + module));
}
