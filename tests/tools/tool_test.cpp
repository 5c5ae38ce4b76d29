// The mamba-gemm program: its commands, exit codes and messages, on the reference device.
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bad_commands.hpp"
#include "process.hpp"
#include "support/test.hpp"

using mgemm::test::BadCommand;
using mgemm::test::check_refused;
using mgemm::test::Finished;
using mgemm::test::run_tool;
using nlohmann::json;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Runs on the reference device, whatever the machine has.
Finished on_reference(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--device", "reference"});
  return run_tool(arguments);
}

}  // namespace

// Catches a product, of any op and shape class, that the tool cannot run, or that differs from the contract.
TEST_CASE("run PROBLEM checks every bit") {
  const std::pair<const char*, const char*> cases[] = {
      {"nn:f32:33x70x50", "bits: 1650 of 1650 elements equal the contract\n"},
      {"nn:f32:33x70x50:bias:alpha=0.5", "bits: 1650 of 1650 elements equal the contract\n"},
      {"nn:f32:3x1100x7:lda=1104:ldout=9:beta=-1.5", "bits: 21 of 21 elements equal the contract\n"},
      {"tn:f32:130x20x30", "bits: 600 of 600 elements equal the contract\n"},
      {"nt:f32:9x40x65:ldb=80", "bits: 360 of 360 elements equal the contract\n"},
      {"nn:bf16:33x70x50:bias:alpha=0.5", "bits: 1650 of 1650 elements equal the contract\n"},
      {"nt:f16:9x40x65:out=f32:ldout=45", "gap: 45 of 45 elements between the rows are untouched\n"},
      {"nt:f16:9x40x65:ldout=45:beta=0.5", "bits: 360 of 360 elements equal the contract\n"},
      {"tn:bf16:130x20x30", "contract: MMA_F32/L16F25/1\n"},
      {"nn:tf32:5x33x7", "contract: TF32/L8F25/1\n"},
      {"nn:f32:0x70x50", "bits: 0 of 0 elements equal the contract\n"},
      {"nn:f32:4x0x5:bias", "bits: 20 of 20 elements equal the contract\n"},
  };
  for (const auto& [problem, bits] : cases) {
    const Finished done = on_reference({"run", problem, "--repeat", "2", "--threads", "2"});
    CAPTURE(problem, done.out, done.err);
    CHECK(done.exit_code == 0);
    CHECK(contains(done.out, bits));
    CHECK(contains(done.out, "device: reference"));
    CHECK(contains(done.out, "kernel: "));
    CHECK(contains(done.out, "identity: "));
    CHECK(contains(done.out, "median of 2"));
  }
}

// Catches a profile that is not the one asked for, or whose bits are checked by another's contract.
TEST_CASE("run --device reference:PROFILE follows that profile's contracts") {
  for (const auto& [device, contract] :
       {std::pair("reference:sm90", "MMA_F32/L16F25/1"), std::pair("reference:sm80", "MMA_F32/L8F24/1")}) {
    const Finished done = run_tool({"run", "nn:bf16:33x700x50:out=f32", "--json", "--device", device});
    CAPTURE(device, done.out, done.err);
    CHECK(done.exit_code == 0);
    const json report = json::parse(done.out);
    CHECK(report["contract"] == contract);
    CHECK(report["check"]["equal"] == 1650);
  }
  const Finished unknown = run_tool({"run", "nn:f32:1x1x1", "--device", "reference:sm70"});
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.err, "reference:sm80"));
}

// Catches a gap that is written, or not looked at.
TEST_CASE("run PROBLEM reports the gap") {
  const Finished done = on_reference({"run", "nn:f32:5x6x7:ldout=10"});
  CAPTURE(done.out, done.err);
  CHECK(done.exit_code == 0);
  CHECK(contains(done.out, "gap: 15 of 15 elements between the rows are untouched\n"));
}

// Catches a large output that is checked not at all, or whole, which takes for ever.
TEST_CASE("run PROBLEM samples large products") {
  // Just over 2^33 multiply-adds.
  const Finished done = on_reference({"run", "nn:f32:2056x2048x2048", "--samples", "1500", "--json"});
  CAPTURE(done.out, done.err);
  CHECK(done.exit_code == 0);
  CHECK(json::parse(done.out)["check"]["scope"] == "sample");
  CHECK(json::parse(done.out)["check"]["checked"] == 1500);
}

// Catches a tool that aborts where it cannot say what is wrong.
TEST_CASE("errors that cannot be printed still give their exit code") {
  for (const char* const stderr_is : {"2>&-", "2>/dev/full"}) {
    for (const char* const arguments : {"run nn:bf16:bad", "--nope", "run --device nowhere nn:f32:1x1x1"}) {
      const std::string command = "'" + std::string(MGEMM_TOOL_PATH) + "' " + arguments + " >/dev/null " + stderr_is;
      const int status = std::system(command.c_str());
      CAPTURE(command, status);
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 2);
    }
  }
}

// Catches output on stdout beside the one object, and keys that scripts rely on.
TEST_CASE("JSON output is one object") {
  const Finished run = on_reference({"run", "nn:f32:8x9x10", "--json", "--seed", "18446744073709551615"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report["problem"] == "nn:f32:8x9x10");
  CHECK(report["device"]["kind"] == "reference");
  CHECK(report["identity"].get<std::string>().size() == 64);
  CHECK(report["slices"] == 1);
  CHECK(report["seed"] == 18446744073709551615U);
  CHECK(report["time"]["runs"] == 1);
  CHECK(report["check"]["equal"] == 80);
  CHECK(report["passed"] == true);
  CHECK(report["cache"]["hits"]["ptx"] == 0);  // the reference device compiles nothing
  CHECK(report["cache"]["compiles"]["ptx"] == 0);

  const Finished info = run_tool({"info", "--json"});
  CAPTURE(info.out, info.err);
  CHECK(info.exit_code == 0);
  CHECK(json::parse(info.out).is_object());
  CHECK(json::parse(info.out)["version"].is_string());
}

// Catches kernels left out, a target in another spelling refused, and a made-up one believed. (tools/test compiles
// all.)
TEST_CASE("modules lists every kernel on the targets asked for") {
  const Finished run = run_tool({"modules", "--arch", "90a,compute_80", "--json"});
  CAPTURE(run.out, run.err);
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report["bad"] == 0);
  CHECK(report["count"] == report["entries"].size());
  REQUIRE(report["entries"].size() >= 2);
  CHECK(report["entries"].front()["target"] == "sm_80");
  CHECK(report["entries"].back()["target"] == "sm_90a");
  CHECK(report["entries"].front()["state"] == "listed");
  CHECK_FALSE(report["entries"].front().contains("registers"));
  const Finished text = run_tool({"modules", "--arch", "sm_90a"});
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "mgemm_f32_nn_single_a16_wide"));
  CHECK(contains(text.out, " kernels, 0 not to be used\n"));
}

// Catches `all` that must stand alone, and targets that are listed as often as they are named.
TEST_CASE("modules takes all anywhere in a list") {
  const std::string all = run_tool({"modules"}).out;
  CHECK(contains(all, "\nsm_90a "));
  for (const char* const list : {"all,sm_80", "90a,all", "all,80,all"}) {
    const Finished run = run_tool({"modules", "--arch", list});
    CAPTURE(list, run.err);
    CHECK(run.exit_code == 0);
    CHECK(run.out == all);
  }
  CHECK(run_tool({"modules", "--arch", "80,sm_80,compute_80"}).out == run_tool({"modules", "--arch", "80"}).out);
}

// Catches a target that is refused without the list of those there are, or without the one that was meant, and one that
// is named where nothing is near.
TEST_CASE("modules names the target that was meant") {
  const BadCommand commands[] = {
      {{"modules", "--arch", "sm_90"}, "--arch sm_90: 'sm_90' is no target; there are sm_80 "},
      {{"modules", "--arch", "sm_90"}, " sm_121a (each also as compute_80 or 80), and all; did you mean sm_90a?\n"},
      {{"modules", "--arch", "9.0a"}, "; did you mean sm_90a?\n"},
      {{"modules", "--arch", "90A"}, "; did you mean sm_90a?\n"},
      {{"modules", "--arch", "compute_90"}, "; did you mean sm_90a?\n"},
      {{"modules", "--arch", "sm_100"}, "; did you mean sm_100a?\n"},
      {{"modules", "--arch", "sm_87"}, "; did you mean sm_86?\n"},
      {{"modules", "--arch", "sm_75"}, "; did you mean sm_80?\n"},
      {{"modules", "--arch", "sm_86,SM_89"}, "--arch sm_86,SM_89: 'SM_89' is no target"},
      {{"modules", "--arch", "all,sm_9"}, "'sm_9' is no target"},
      {{"modules", "--arch", "al"}, "; did you mean all?\n"},
      {{"modules", "--arch", "hopper"}, "'hopper' is no target; there are sm_80"},
      {{"modules", "--arch", "sm_1"}, ", and all\n"},
      {{"modules", "--arch", "sm_99999999999999999990"}, ", and all\n"},
      {{"modules", "--arch", ""}, "'' is no target; there are sm_80"},
      {{"modules", "--arch", "sm_90a,"}, "'' is no target; there are sm_80"},
  };
  check_refused(commands);
}

// Catches hundreds of lines with one and the same reason, and none with what to do.
TEST_CASE("modules --compile without a compiler says so once") {
  const std::string reason = "MAMBA_GEMM_NVRTC is '/no/such/library', which does not exist";
  const auto modules = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"modules", "--compile", "--arch", "sm_80,sm_90a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments, {"MAMBA_GEMM_NVRTC=/no/such/library", "MAMBA_GEMM_CACHE=off"});
  };
  const Finished text = modules({});
  CAPTURE(text.out, text.err);
  CHECK(text.exit_code == 1);
  const std::size_t first = text.out.find(reason);
  REQUIRE(first != std::string::npos);
  CHECK(text.out.find(reason, first + 1) == std::string::npos);
  CHECK(contains(text.out, "failed [1]\n=> correct MAMBA_GEMM_NVRTC, or unset it\n"));
  CHECK_FALSE(contains(text.err, reason));
  const Finished whole = modules({"--json"});
  CHECK(whole.exit_code == 1);
  const json report = json::parse(whole.out);
  CHECK(report["bad"] == report["count"]);
  for (const json& entry : report["entries"]) CHECK(contains(entry["reason"], reason));
}

// Catches a counter that a run leaves out, or has under another name than the library. In both processes all are 0.
TEST_CASE("a run reports the library's counters") {
  const json counters = json::parse(on_reference({"run", "nn:f32:2x2x2", "--json"}).out)["cache"];
  CAPTURE(counters.dump());
  for (const char* const key :
       {"misses", "failed_compiles", "waits_for_threads", "waits_for_processes", "lock_timeouts", "lock_failures",
        "evictions", "reaped", "stores", "bytes_read", "bytes_written", "nvrtc_loads", "nvrtc_hashes"}) {
    CAPTURE(key);
    CHECK(counters[key] == 0);
  }
  CHECK(counters["rejects"]["wrong-key"] == 0);
  CHECK(counters["store_failures"]["no-space"] == 0);
  CHECK(counters == json::parse(run_tool({"cache", "stats", "--json"}, {"MAMBA_GEMM_CACHE=/nowhere"}).out)["counters"]);
}

// Catches a helper that is used and not shown, and a missing one without a reason.
TEST_CASE("info names the helper program") {
  const Finished off = run_tool({"info", "--json"}, {"MAMBA_GEMM_HELPER=off"});
  REQUIRE(off.exit_code == 0);
  CHECK(json::parse(off.out)["helper"]["error"] == "MAMBA_GEMM_HELPER is 'off'");
  CHECK(contains(run_tool({"info"}, {"MAMBA_GEMM_HELPER=off"}).out, "helper     none: MAMBA_GEMM_HELPER is 'off'\n"));
  const json found = json::parse(run_tool({"info", "--json"}, {"MAMBA_GEMM_HELPER"}).out)["helper"];
  CAPTURE(found.dump());
  CHECK(found.contains("path") == found.contains("source"));
  CHECK(found.contains("path") != found.contains("error"));
}

// Catches a shadow run that cannot be made on the reference device, or whose report is lost.
TEST_CASE("verify prints the report of a shadow run") {
  const Finished done = on_reference({"verify", "nn:f32:40x50x60:bias", "--samples", "100", "--json"});
  CAPTURE(done.out, done.err);
  REQUIRE(done.exit_code == 0);
  const json report = json::parse(done.out);
  CHECK(report["passed"] == true);
  CHECK(report["check"]["checked"] >= 100);
  CHECK(report["check"]["mismatches"] == 0);
  const Finished text = on_reference({"verify", "tn:f32:40x50x60"});
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "elements of a shadow run equal the contract"));
}

// Catches a wrong exit code, and an error on stdout or without the value that was wrong.
TEST_CASE("usage errors exit with 2") {
  const BadCommand commands[] = {
      {{}, "subcommand"},
      {{"bogus"}, "mamba-gemm: "},
      {{"run"}, "needs a problem string"},
      {{"run", "xx:f32:8x8x8"}, "MGEMM_INVALID_ARGUMENT"},
      {{"run", "nn:f32:8x8"}, "MGEMM_INVALID_ARGUMENT"},
      {{"run", "nn:f32:8x8x8:lda=7"}, "MGEMM_INVALID_ARGUMENT"},
      {{"run", "nn:f32:8x8x8", "--device", "gpu"}, "--device gpu"},
      {{"run", "nn:f32:8x8x8", "--device", "cuda:-1"}, "--device cuda:-1"},
      {{"run", "nn:f32:8x8x8", "--device", "cuda:99999999999"}, "--device cuda:99999999999"},
      {{"run", "nn:f32:8x8x8", "--seed", "-1"}, "--seed -1"},
      {{"run", "nn:f32:8x8x8", "--seed", "18446744073709551616"}, "--seed 18446744073709551616"},
      {{"run", "nn:f32:8x8x8", "--repeat", "0"}, "--repeat"},
      {{"run", "nn:f32:8x8x8", "--samples", "0"}, "--samples"},
      {{"run", "nn:f32:8x8x8", "--threads", "-2"}, "--threads"},
      {{"run", "nn:f32:8x8x8", "--x", "x.npy"}, "exclude each other"},
      {{"run", "nn:f32:1000000000x1000000000x2"}, "GiB of host memory"},
      {{"verify"}, "problem"},
      {{"verify", "nn:f32:8x8x8x8"}, "MGEMM_INVALID_ARGUMENT"},
      {{"cache"}, "subcommand"},
  };
  check_refused(commands);
}

// Catches a silent fallback: a GPU that was asked for and is not there is the library's error, with the way out named.
TEST_CASE("a missing GPU is an error that names the reference device") {
  const Finished done = run_tool({"run", "nn:f32:8x8x8", "--device", "cuda:4095"});
  CAPTURE(done.out, done.err);
  CHECK(done.exit_code == 3);
  CHECK(done.out.empty());
  CHECK(contains(done.err, "MGEMM_NO_DEVICE"));
  CHECK(contains(done.err, "--device reference"));
}

// Catches a cache path by another rule than the library's, and a missing one that looks like success.
TEST_CASE("cache path") {
  const Finished set = run_tool({"cache", "path"}, {"MAMBA_GEMM_CACHE=/some/where"});
  CHECK(set.exit_code == 0);
  CHECK(set.out == "/some/where\n");
  CHECK(set.err.empty());
  const Finished home = run_tool({"cache", "path"}, {"MAMBA_GEMM_CACHE", "XDG_CACHE_HOME", "HOME=/home/someone"});
  CHECK(home.exit_code == 0);
  CHECK(home.out == "/home/someone/.cache/mamba-gemm\n");
  const Finished off = run_tool({"cache", "path"}, {"MAMBA_GEMM_CACHE=off"});
  CHECK(off.exit_code == 1);
  CHECK(off.out.empty());
  CHECK(contains(off.err, "there is no cache folder"));
}

// Catches help or version that fails or goes to stderr.
TEST_CASE("version, help and info") {
  const Finished version = run_tool({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.out.starts_with("mamba-gemm 0."));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"info"}, {"cache", "path", "--help"}}) {
    const Finished done = run_tool(arguments);
    CAPTURE(arguments, done.err);
    CHECK(done.exit_code == 0);
    CHECK_FALSE(done.out.empty());
    CHECK(done.err.empty());
  }
}
