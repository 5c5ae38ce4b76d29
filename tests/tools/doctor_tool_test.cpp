// mamba-gemm doctor as a program, on machines that are made to look healthy or broken.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "compile/assemble_protocol.hpp"
#include "process.hpp"
#include "support/test.hpp"
#include "temp_folder.hpp"

namespace {

using namespace mgemm::test;
using nlohmann::json;
namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What the tool said about a machine whose driver is a fake, so that it is the same with and without a GPU.
struct Machine {
  TempFolder temporary;
  fs::path cache = temporary.path() / "cache";

  explicit Machine(const std::string& driver = "driver_12_4") {
    if (driver.empty()) return;
    fs::create_directories(temporary.path() / "driver");
    fs::create_symlink(fs::path(MGEMM_FAKE_LIBRARIES) / (driver + ".so"), temporary.path() / "driver/libcuda.so.1");
  }

  /// `changes` as run_tool's, over a machine without any of the library's variables but a cache of its own.
  Finished run(const std::vector<std::string>& changes, const std::vector<std::string>& options = {"--json"}) const {
    std::vector<std::string> environment{"MAMBA_GEMM_CACHE=" + cache.string()};
    for (const char* const name :
         {"MAMBA_GEMM_CACHE_MAX", "MAMBA_GEMM_HELPER", "MAMBA_GEMM_LOG", "MAMBA_GEMM_NVRTC", "MAMBA_GEMM_SIMD",
          "MAMBA_GEMM_THREADS", "NVRTC_APPEND_FLAGS", "NV_NVVM_VERSION", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT"})
      environment.emplace_back(name);
    if (fs::exists(temporary.path() / "driver")) {
      const char* const before = std::getenv("LD_LIBRARY_PATH");
      environment.push_back("LD_LIBRARY_PATH=" + temporary.file("driver") +
                            (before != nullptr ? std::string(":") + before : ""));
    }
    for (const std::string& change : changes) {
      const std::string name = change.substr(0, change.find('='));
      std::erase_if(environment, [&](const std::string& own) { return own.substr(0, own.find('=')) == name; });
      environment.push_back(change);
    }
    std::vector<std::string> arguments{"doctor"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_tool(arguments, environment);
  }
};

json named(const json& report, const std::string& name) {
  for (const json& check : report["checks"])
    if (check["name"] == name) return check;
  return {{"name", name + " is missing"}, {"state", "missing"}, {"found", ""}, {"remedy", ""}};
}

json report_of(const Finished& done) {
  CAPTURE(done.out, done.err);
  const json report = json::parse(done.out, nullptr, false);
  REQUIRE(report.is_object());
  // Whatever is wrong with the machine, exit code and counts say the same, and all that is wrong has a remedy.
  CHECK(done.exit_code == (report["problems"] == 0 ? 0 : 1));
  std::int64_t problems = 0, notes = 0;
  for (const json& check : report["checks"]) {
    problems += check["state"] == "problem" ? 1 : 0;
    notes += check["state"] == "note" ? 1 : 0;
    CAPTURE(check.dump());
    CHECK(check["remedy"].is_null() == (check["state"] == "ok"));
    if (check["state"] != "ok") CHECK(check["remedy"].get<std::string>().size() > 10);
  }
  CHECK(report["problems"] == problems);
  CHECK(report["notes"] == notes);
  return report;
}

/// Catches all that may go wrong with one check.
void check_is(const json& report, const std::string& name, const char* state, std::string_view found,
              std::string_view remedy = "") {
  const json check = named(report, name);
  CAPTURE(check.dump(), report.dump());
  CHECK(check["state"] == state);
  CHECK(contains(check["found"], found));
  if (!remedy.empty()) CHECK(contains(check["remedy"].is_null() ? "" : check["remedy"].get<std::string>(), remedy));
}

void copy_fake(const std::string& name, const fs::path& to) {
  fs::copy_file(fs::path(MGEMM_FAKE_LIBRARIES) / (name + ".so"), to);
}

}  // namespace

// Catches a healthy machine that is called ill, a product that is not run, and a folder that is made by looking.
TEST_CASE("doctor: a machine where nothing is wrong") {
  const Machine machine;
  const json report = report_of(machine.run({}));
  CAPTURE(report.dump());
  CHECK(report["problems"] == 0);
  check_is(report, "library", "ok", "mamba_gemm 0.");
  check_is(report, "MAMBA_GEMM_CACHE", "ok", machine.cache.string());
  check_is(report, "driver", "ok", "CUDA 12.4");
  check_is(report, "devices", "note", "none", "nvidia-smi");
  check_is(report, "helper", "ok", "mamba-gemm-assemble");
  check_is(report, "cache", "ok", "not there yet");
  check_is(report, "cache space", "ok", "of 256.0 MiB");
  check_is(report, "product on reference", "ok", "5025 of 5025 elements equal the contract F32_FMA/1");
  check_is(report, "tensor cores on reference", "ok", "5025 of 5025 elements equal the contract MMA_F32/L16F25/1");
  CHECK_FALSE(fs::exists(machine.cache));

  const Finished text = machine.run({}, {});
  CAPTURE(text.out);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "ok       driver "));
  CHECK(contains(text.out, "note     devices "));
  CHECK(contains(text.out, " checks: 0 problems, "));
}

// Catches a driver that cannot serve and is taken for none, or the other way round.
TEST_CASE("doctor: drivers") {
  check_is(report_of(Machine("driver_12_2").run({})), "driver", "problem", "CUDA 12.2", "driver 550 or newer");
  check_is(report_of(Machine("driver_broken").run({})), "driver", "problem", "803", "nvidia-smi");
  check_is(report_of(Machine("driver_no_device").run({"CUDA_VISIBLE_DEVICES="})), "driver", "note", "cuInit",
           "unset CUDA_VISIBLE_DEVICES");
}

// Catches a wrong variable that goes unnoticed or is counted twice, and one that does not exist.
TEST_CASE("doctor: variables") {
  // Without a driver any NVRTC serves that this machine may have, and without the helper program none is tried.
  const Machine machine("driver_no_device");
  const std::string hidden = "CUDA_VISIBLE_DEVICES=";
  const std::string off = "MAMBA_GEMM_HELPER=off";
  struct Row {
    const char *setting, *found, *remedy;
  };
  const Row rows[] = {
      {"MAMBA_GEMM_CACHE=rel/path", "which is not an absolute path", "correct MAMBA_GEMM_CACHE"},
      {"MAMBA_GEMM_CACHE_MAX=lots", "it must be a number of bytes", "correct MAMBA_GEMM_CACHE_MAX"},
      {"MAMBA_GEMM_LOG=loud", "valid are off, error, warn", "correct MAMBA_GEMM_LOG"},
      {"MAMBA_GEMM_SIMD=mmx", "valid are generic, avx2, avx512", "correct MAMBA_GEMM_SIMD"},
      {"MAMBA_GEMM_THREADS=none", "valid are 1 to 1024", "correct MAMBA_GEMM_THREADS"},
      {"MAMBA_GEMM_HELPER=/no/such/program", "is refused", "correct MAMBA_GEMM_HELPER"},
      {"MAMBA_GEMM_NVRTC=/no/such/library", "which does not exist", "correct MAMBA_GEMM_NVRTC"},
      {"MAMBA_GEMM_CAHCE=/x", "no variable of this release", "set MAMBA_GEMM_CACHE instead"},
      {"MAMBA_GEMM_TURBO=1", "no variable of this release", "unset MAMBA_GEMM_TURBO"},
  };
  for (const Row& row : rows) {
    const std::string setting = row.setting;
    CAPTURE(setting);
    const json report = report_of(machine.run({hidden, off, setting}));
    check_is(report, setting.substr(0, setting.find('=')), "problem", row.found, row.remedy);
    CHECK(report["problems"] == 1);
  }
  const json on = report_of(machine.run({hidden, off, "NVRTC_APPEND_FLAGS=-G", "CUDA_FORCE_PTX_JIT=1"}));
  CHECK(on["problems"] == 0);
  check_is(on, "NVRTC_APPEND_FLAGS", "note", "'-G'", "unset NVRTC_APPEND_FLAGS");
  check_is(on, "CUDA_FORCE_PTX_JIT", "note", "translates PTX", "unset CUDA_FORCE_PTX_JIT");
  check_is(on, "MAMBA_GEMM_HELPER", "ok", "'off'");
  check_is(on, "helper", "note", "turned off", "unset MAMBA_GEMM_HELPER");
}

// Catches an NVRTC that cannot work and no word about what is missing.
TEST_CASE("doctor: NVRTC") {
  const Machine machine;
  const std::string text_file = machine.temporary.file("notes.txt");
  write_bytes(text_file, "not a library\n");
  check_is(report_of(machine.run({"MAMBA_GEMM_NVRTC=" + text_file})), "MAMBA_GEMM_NVRTC", "problem",
           "no libnvrtc-builtins.so.*", "correct MAMBA_GEMM_NVRTC");

  const fs::path folder = machine.temporary.path() / "nvrtc";
  fs::create_directories(folder);
  copy_fake("nvrtc_12_3", folder / "libnvrtc.so.12");
  const std::string chosen = "MAMBA_GEMM_NVRTC=" + folder.string();
  const json alone = report_of(machine.run({chosen}));
  check_is(alone, "MAMBA_GEMM_NVRTC", "problem", "no libnvrtc-builtins.so.*", "correct MAMBA_GEMM_NVRTC");
  check_is(alone, "nvrtc", "note", "because of MAMBA_GEMM_NVRTC");

  copy_fake("nvrtc_12_2", folder / "libnvrtc-builtins.so.12.3");
  const json complete = report_of(machine.run({chosen}));
  check_is(complete, "nvrtc", "ok", "libnvrtc.so.12, version 12.3, with " + folder.string());
  // The fake makes no code, which the helper program hands on as the compiler's fault.
  check_is(complete, "compile", "problem", "lacks nvrtcGetCUBIN", "install another NVRTC");
}

// Catches a candidate that was rejected and is not shown, and an NVRTC that only half serves called healthy.
TEST_CASE("doctor: NVRTC newer than the driver") {
  const Machine machine;
  const fs::path folder = machine.temporary.path() / "lib64";
  fs::create_directories(folder);
  copy_fake("nvrtc_12_9", folder / "libnvrtc.so.12");
  copy_fake("nvrtc_12_2", folder / "libnvrtc-builtins.so.12.9");
  const json half = report_of(machine.run({"MAMBA_GEMM_NVRTC=" + folder.string()}));
  check_is(half, "nvrtc", "note", "only its machine code serves", "not newer than the driver's CUDA 12.4");
  const json off = report_of(machine.run({"MAMBA_GEMM_NVRTC=" + folder.string(), "MAMBA_GEMM_HELPER=off"}));
  check_is(off, "nvrtc", "problem", "without the helper program", "install a driver for CUDA 12.9 or newer");
  // Among all that is found it is one candidate, served or not.
  const json found = named(report_of(machine.run({"CUDA_HOME=" + machine.temporary.path().string()})), "nvrtc");
  CAPTURE(found.dump());
  CHECK(contains(found.dump(), (folder / "libnvrtc.so.12").string()));
}

// Catches a helper that is no helper and is believed.
TEST_CASE("doctor: a helper program that does not answer") {
  const Machine machine;
  const fs::path folder = machine.temporary.path() / "nvrtc";
  fs::create_directories(folder);
  copy_fake("nvrtc_12_3", folder / "libnvrtc.so.12");
  copy_fake("nvrtc_12_2", folder / "libnvrtc-builtins.so.12.3");
  const json report = report_of(machine.run({"MAMBA_GEMM_NVRTC=" + folder.string(), "MAMBA_GEMM_HELPER=/bin/false"}));
  check_is(report, "helper", "ok", "/false (MAMBA_GEMM_HELPER)");
  check_is(report, "compile", "problem", "without a response", "MAMBA_GEMM_HELPER");
}

// Catches a kernel that was made and must not be used, and a chain of compiler and helper that is called healthy.
TEST_CASE("doctor: a compiler whose kernels are excluded") {
  const Machine machine;
  const fs::path folder = machine.temporary.path() / "nvrtc";
  fs::create_directories(folder);
  copy_fake("nvrtc_12_3", folder / "libnvrtc.so.12");
  copy_fake("nvrtc_12_2", folder / "libnvrtc-builtins.so.12.3");
  // Machine code of whatever it is asked for, in which the assembler found no kernel.
  write_bytes(folder / "response", mgemm::encode_response({MGEMM_OK, {12, 3}, "", "\177ELF"}));
  const fs::path helper = folder / "helper";
  write_bytes(helper, "#!/bin/sh\ncat >/dev/null; cat '" + (folder / "response").string() + "'\n");
  fs::permissions(helper, fs::perms(0755));
  const json report =
      report_of(machine.run({"MAMBA_GEMM_NVRTC=" + folder.string(), "MAMBA_GEMM_HELPER=" + helper.string()}));
  check_is(report, "compile", "problem", "must not be used: its module does not have it", "another release of NVRTC");
}

// Catches a folder that is refused or full of damage and called healthy.
TEST_CASE("doctor: the cache") {
  const Machine machine;
  fs::create_directories(machine.cache);
  REQUIRE(::chmod(machine.cache.c_str(), 0755) == 0);
  const json refused = report_of(machine.run({}));
  check_is(refused, "cache", "problem", "has mode 0755, not 0700", "run chmod 700");
  CHECK_FALSE(contains(named(refused, "cache")["found"], "chmod"));
  CHECK(refused["problems"] == 1);

  REQUIRE(::chmod(machine.cache.c_str(), 0700) == 0);
  write_bytes(machine.cache / (std::string(64, 'a') + ".ptx"), "damaged");
  const json damaged = report_of(machine.run({}));
  check_is(damaged, "cache", "ok", machine.cache.string() + " (by MAMBA_GEMM_CACHE)");
  check_is(damaged, "cache entries", "note", "1 not", "cache verify --repair");
  CHECK(damaged["problems"] == 0);

  const json off = report_of(machine.run({"MAMBA_GEMM_CACHE=off"}));
  check_is(off, "cache", "note", "none: MAMBA_GEMM_CACHE is 'off'", "absolute path");
  check_is(report_of(machine.run({"MAMBA_GEMM_CACHE=rel"})), "cache", "note", "because of MAMBA_GEMM_CACHE");
}

// Catches a chain of compiler and helper program that is not tried, and a GPU that is not.
TEST_CASE("doctor: this machine") {
  const char* const chosen = std::getenv("MAMBA_GEMM_NVRTC");
  const Machine machine("");
  const json report =
      report_of(machine.run({chosen != nullptr ? "MAMBA_GEMM_NVRTC=" + std::string(chosen) : "MAMBA_GEMM_NVRTC"}));
  check_is(report, "product on reference", "ok", "equal the contract");
  const json info = json::parse(run_tool({"info", "--json"}).out);
  if (info["nvrtc"]["available"] != true) MGEMM_SKIP("no NVRTC on this machine");
  check_is(report, "nvrtc", named(report, "nvrtc")["state"] == "note" ? "note" : "ok", "libnvrtc-builtins.so");
  check_is(report, "compile", "ok", "for sm_");
  for (const json& device : info["devices"])
    if (device["target"].is_string()) {
      check_is(report, "product on cuda:" + device["ordinal"].dump(), "ok", "equal the contract");
      const json tensor = named(report, "tensor cores on cuda:" + device["ordinal"].dump());
      CHECK(tensor["state"] != "problem");
    }
}
