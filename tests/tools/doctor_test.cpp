// What the doctor makes of machines that this one is not.
#include <string>
#include <string_view>
#include <vector>

#include "doctor_checks.hpp"
#include "nearest_name.hpp"
#include "support/test.hpp"

using namespace mgemm::cli;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json driver(const char* version) { return {{"available", true}, {"oldest", "12.4"}, {"version", version}}; }
Json no_driver(const char* status) {
  return {{"available", false}, {"oldest", "12.4"}, {"status", status}, {"error", "why"}};
}
Json device(int ordinal, const char* capability, const Json& target) {
  return {{"ordinal", ordinal}, {"name", "Board"}, {"compute_capability", capability}, {"target", target}};
}
Json candidate(const char* version, bool is_newer, const Json& builtins) {
  return {{"path", "/n/libnvrtc.so"}, {"source", "CUDA_HOME"},         {"version", version},
          {"builtins", builtins},     {"newer_than_driver", is_newer}, {"verdict", "what came of it"}};
}
Json variable(const char* name, const char* reader, const Json& value, const Json& problem) {
  return {{"name", name}, {"reader", reader}, {"value", value}, {"problem", problem}};
}

/// A machine with one GPU where all is well.
Json healthy() {
  return {{"driver", driver("13.0")},
          {"devices", Json::array({device(0, "9.0", "sm_90a")})},
          {"nvrtc",
           {{"available", true},
            {"oldest", "12.3"},
            {"path", "/n/libnvrtc.so"},
            {"version", "13.0"},
            {"candidates", Json::array({candidate("13.0", false, "/n/libnvrtc-builtins.so.13.0")})}}},
          {"helper", {{"path", "/h"}, {"source", "libexec"}}},
          {"variables", Json::array({variable("MAMBA_GEMM_CACHE", "library", nullptr, nullptr),
                                     variable("MAMBA_GEMM_NVRTC", "library", nullptr, nullptr)})}};
}

/// The same without a usable NVRTC.
Json without_nvrtc(const Json& candidates) {
  Json environment = healthy();
  environment["nvrtc"] = {{"available", false}, {"oldest", "12.3"}, {"error", "why"}, {"candidates", candidates}};
  return environment;
}

CacheFacts healthy_cache() {
  CacheFacts cache;
  cache.totals = {{"path", "/c"},      {"rule", "HOME"}, {"exists", true}, {"refusal", nullptr},
                  {"remedy", nullptr}, {"cap", 1 << 28}, {"bytes", 4096}};
  cache.sound = 3;
  cache.folder = {"/c", "", {"ext4", Keeping::plain}, false, true, std::uint64_t{1} << 40U};
  return cache;
}

Check named(const std::vector<Check>& checks, std::string_view name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  return {"missing", State::problem, "", ""};
}

void check_is(const Check& check, State state, std::string_view found, std::string_view remedy) {
  CAPTURE(check.name, check.found, check.remedy);
  CHECK(check.state == state);
  CHECK(contains(check.found, found));
  CHECK(contains(check.remedy, remedy));
  CHECK(check.remedy.empty() == (check.state == State::ok));
}

}  // namespace

// Catches a remedy for what is well.
TEST_CASE("doctor: a healthy machine has neither notes nor problems") {
  const Json environment = healthy();
  check_is(check_driver(environment, true), State::ok, "CUDA 13.0", "");
  check_is(check_devices(environment).at(0), State::ok, "Board, compute capability 9.0, target sm_90a", "");
  check_is(check_nvrtc(environment), State::ok, "version 13.0, with /n/libnvrtc-builtins.so.13.0", "");
  check_is(check_helper(environment), State::ok, "/h (libexec)", "");
  check_is(check_variables(environment, {"PATH=/bin"}).at(0), State::ok, "none is set", "");
  const std::vector<Check> cache = check_cache(environment, healthy_cache());
  CHECK(cache.size() == 4);
  for (const Check& check : cache) check_is(check, State::ok, "", "");
}

// Catches a machine without a GPU that counts as broken, and a broken one that does not.
TEST_CASE("doctor: drivers that do not serve") {
  Json environment = healthy();
  environment["driver"] = no_driver("MGEMM_NO_DEVICE");
  check_is(check_driver(environment, false), State::note, "why", "--device reference");
  check_is(check_driver(environment, true), State::problem, "why", "container toolkit");
  CHECK(check_devices(environment).empty());
  environment["variables"].push_back(variable("CUDA_VISIBLE_DEVICES", "driver", "", nullptr));
  check_is(check_driver(environment, true), State::note, "why", "unset CUDA_VISIBLE_DEVICES");
  environment["driver"] = no_driver("MGEMM_UNSUPPORTED");
  check_is(check_driver(environment, false), State::problem, "why", "driver 550 or newer, which has CUDA 12.4");
  environment["driver"] = no_driver("MGEMM_DRIVER");
  check_is(check_driver(environment, false), State::problem, "why", "nvidia-smi");
}

// Catches a GPU too old that is passed over silently, and one that is a problem beside a good one.
TEST_CASE("doctor: devices") {
  Json environment = healthy();
  environment["devices"] = Json::array({device(0, "7.5", nullptr)});
  check_is(check_devices(environment).at(0), State::problem, "7.5, which this release has no kernels for", "8.0");
  environment["devices"].push_back(device(1, "8.6", "sm_86"));
  check_is(check_devices(environment).at(0), State::note, "7.5", "8.0");
  check_is(check_devices(environment).at(1), State::ok, "target sm_86", "");
  environment["devices"] = Json::array();
  check_is(check_devices(environment).at(0), State::note, "none", "CUDA_VISIBLE_DEVICES");
}

// Catches a compiler that is missing and not missed, a remedy that does not fit, and a cause that counts twice.
TEST_CASE("doctor: compilers that do not serve, or only half") {
  check_is(check_nvrtc(without_nvrtc(Json::array())), State::problem, "none was found", "pip install");
  const Json incomplete = Json::array({candidate("13.0", false, nullptr)});
  check_is(check_nvrtc(without_nvrtc(incomplete)), State::problem, "cannot be used", "libnvrtc-builtins.so");
  CHECK(check_nvrtc(without_nvrtc(incomplete)).details ==
        std::vector<std::string>{"/n/libnvrtc.so (from CUDA_HOME, version 13.0): what came of it"});
  const Json newer = Json::array({candidate("14.0", true, "/n/builtins")});
  check_is(check_nvrtc(without_nvrtc(newer)), State::problem, "cannot be used", "a driver for CUDA 14.0");

  Json no_device = without_nvrtc(Json::array());
  no_device["devices"] = Json::array();
  check_is(check_nvrtc(no_device), State::note, "the reference device needs none", "pip install");
  Json blamed = without_nvrtc(Json::array());
  blamed["variables"] = Json::array({variable("MAMBA_GEMM_NVRTC", "library", "/x", "it is wrong")});
  check_is(check_nvrtc(blamed), State::note, "because of MAMBA_GEMM_NVRTC", "correct MAMBA_GEMM_NVRTC");
  check_is(check_variables(blamed, {}).at(0), State::problem, "it is wrong", "correct MAMBA_GEMM_NVRTC, or unset it");

  Json half = healthy();
  half["driver"] = driver("12.8");
  half["nvrtc"]["candidates"] = Json::array({candidate("12.9", true, "/n/builtins")});
  check_is(check_nvrtc(half), State::note, "only its machine code serves", "not newer than the driver's CUDA 12.8");
  half["helper"] = {{"error", "not found"}};
  check_is(check_nvrtc(half), State::problem, "without the helper program", "CUDA 12.8");
  half["variables"] = Json::array({variable("MAMBA_GEMM_HELPER", "library", "/x", "it is wrong")});
  check_is(check_nvrtc(half), State::note, "without the helper program", "CUDA 12.8");
  check_is(check_helper(half), State::note, "because of MAMBA_GEMM_HELPER", "correct MAMBA_GEMM_HELPER");
  half["variables"] = Json::array();
  check_is(check_helper(half), State::note, "not found", "MAMBA_GEMM_HELPER");
}

// Catches blame of the compiler for the helper program's failure, and the other way round.
TEST_CASE("doctor: who is at fault when a kernel does not compile") {
  check_is(check_compiled({"kernel", "sm_90a", "", 1.25}, "/h"), State::ok, "kernel for sm_90a in 1.2 s", "");
  check_is(check_compiled({"kernel", "sm_90a", "from /n: /h was killed by SIGSEGV", 0}, "/h"), State::problem,
           "SIGSEGV", "MAMBA_GEMM_HELPER");
  check_is(check_compiled({"kernel", "sm_90a", "nvrtcCompileProgram failed", 0}, "/h"), State::problem,
           "nvrtcCompileProgram failed", "MAMBA_GEMM_NVRTC");
}

// Catches a kernel that compiles, must not be used, and counts as well, or as one that did not compile.
TEST_CASE("doctor: a kernel that is excluded is a problem") {
  mgemm_kernel_info kernel{};
  kernel.kernel = "kernel";
  kernel.target = "sm_90a";
  kernel.reason = "it spills 8 bytes";
  kernel.state = MGEMM_KERNEL_EXCLUDED;
  check_is(check_compiled(compiled_of(kernel), "/h"), State::problem,
           "kernel for sm_90a must not be used: it spills 8 bytes", "another release of NVRTC");
  kernel.state = MGEMM_KERNEL_FAILED;
  CHECK(check_compiled(compiled_of(kernel), "/h").found == "it spills 8 bytes");
  kernel.state = MGEMM_KERNEL_READY;
  kernel.reason = "";
  check_is(check_compiled(compiled_of(kernel), "/h"), State::ok, "kernel for sm_90a in", "");
}

// Catches a state of the cache's folder that nobody is told of.
TEST_CASE("doctor: caches that are not at their best") {
  const Json environment = healthy();
  const auto checks_with = [&](auto change) {
    CacheFacts cache = healthy_cache();
    change(cache);
    return check_cache(environment, cache);
  };
  const auto system_with = [&](auto change) {
    return named(checks_with([&](CacheFacts& cache) { change(cache.folder); }), "cache file system");
  };
  const auto on = [&](Keeping keeping) {
    return system_with([keeping](FolderFacts& folder) { folder.file_system = {"name", keeping}; });
  };
  check_is(on(Keeping::network), State::note, "name, over the network", "MAMBA_GEMM_CACHE");
  check_is(on(Keeping::until_reboot), State::note, "gone after a restart", "local disk");
  check_is(on(Keeping::with_container), State::note, "gone with the container", "mount a volume");
  check_is(system_with([](FolderFacts& folder) { folder.is_read_only = true; }), State::problem, "read-only",
           "MAMBA_GEMM_CACHE");
  check_is(system_with([](FolderFacts& folder) { folder.problem = "an error"; }), State::note, "an error", "look at");

  const auto space_with = [&](std::uint64_t free_bytes) {
    return named(checks_with([&](CacheFacts& cache) { cache.folder.free_bytes = free_bytes; }), "cache space");
  };
  check_is(space_with(std::uint64_t{1} << 28U), State::ok, "4.0 KiB used of 256.0 MiB, 256.0 MiB free", "");
  check_is(space_with(std::uint64_t{1} << 27U), State::note, "128.0 MiB free", "MAMBA_GEMM_CACHE_MAX");
  check_is(space_with(1000), State::problem, "1000 bytes free", "make room");

  check_is(named(checks_with([](CacheFacts& cache) { cache.bad = 2; }), "cache entries"), State::note,
           "3 entries sound, 2 not", "cache verify --repair");
  check_is(named(checks_with([](CacheFacts& cache) {
                   cache.totals["exists"] = false;
                   cache.folder.existing = "/above";
                   cache.folder.may_write = false;
                 }),
                 "cache"),
           State::problem, "/above may not be written to", "allow writing to /above");
  const Check refused = named(checks_with([](CacheFacts& cache) {
                                cache.totals["refusal"] = "/c has mode 0755; chmod";
                                cache.totals["remedy"] = "chmod";
                              }),
                              "cache");
  check_is(refused, State::problem, "refused: /c has mode 0755", "chmod");
  CHECK_FALSE(contains(refused.found, "chmod"));
  const auto none = checks_with([](CacheFacts& cache) {
    cache.totals["path"] = "";
    cache.totals["rule"] = "HOME is missing";
  });
  REQUIRE(none.size() == 1);
  check_is(none.at(0), State::note, "HOME is missing", "MAMBA_GEMM_CACHE");
}

// Catches a check that relies on a key: the library may leave any of them out, or change a type.
TEST_CASE("doctor: any object is an environment") {
  for (const char* const text : {"{}", "[1]", "3", R"({"driver": 3, "devices": "x", "nvrtc": [], "variables": {}})",
                                 R"({"driver": {"available": true}, "devices": [1], "variables": [2]})"}) {
    CAPTURE(text);
    const Json json = Json::parse(text);
    CHECK_NOTHROW(check_variables(json, {}));
    CHECK_NOTHROW(check_driver(json, false));
    CHECK_NOTHROW(check_devices(json));
    CHECK_NOTHROW(check_nvrtc(json));
    CHECK_NOTHROW(check_helper(json));
    CHECK_NOTHROW(check_cache(json, {json, 0, 0, {}}));
  }
}

// Catches a suggestion that is far-fetched, and a typing error that gets none.
TEST_CASE("doctor: the name that was meant") {
  CHECK(typing_distance("CACHE", "CAHCE") == 1);
  CHECK(typing_distance("CACHE", "CACE") == 1);
  CHECK(typing_distance("", "ABC") == 3);
  CHECK(typing_distance("ABC", "ABC") == 0);
  CHECK(typing_distance("ABC", "CAB") == 2);
  const std::vector<std::string> names{"MAMBA_GEMM_CACHE", "MAMBA_GEMM_CACHE_MAX", "MAMBA_GEMM_LOG"};
  CHECK(nearest_name("MAMBA_GEMM_CAHCE", names) == "MAMBA_GEMM_CACHE");
  CHECK(nearest_name("MAMBA_GEMM_CACHEMAX", names) == "MAMBA_GEMM_CACHE_MAX");
  CHECK(nearest_name("mamba_gemm_log", names) == "MAMBA_GEMM_LOG");
  CHECK(nearest_name("MAMBA_GEMM_SOMETHING", names).empty());
}

// Catches a file system under the name of another, and one whose number has its highest bit set.
TEST_CASE("doctor: file systems") {
  CHECK(file_system_of(0x6969).keeping == Keeping::network);
  CHECK(file_system_of(static_cast<std::int32_t>(0xff534d42)).name == "cifs");
  CHECK(file_system_of(0x01021994).keeping == Keeping::until_reboot);
  CHECK(file_system_of(0xef53).name == "ext4");
  CHECK(contains(file_system_of(0x1234567).name, "0x1234567"));
  const FolderFacts facts = look_at_folder("/no/such/folder");
  CHECK(facts.existing == "/");
  CHECK(facts.problem.empty());
}

// Catches a table that is not aligned, loses a remedy or miscounts, and JSON that says something else.
TEST_CASE("doctor: the report") {
  const std::vector<Check> checks{{"a", State::ok, "fine", "", {"detail"}},
                                  {"longer", State::note, "so so", "do this"},
                                  {"b", State::problem, "bad", "do that"}};
  CHECK(doctor_text(checks) ==
        "ok       a       fine\n"
        "                 - detail\n"
        "note     longer  so so\n"
        "                 => do this\n"
        "problem  b       bad\n"
        "                 => do that\n"
        "3 checks: 1 problem, 1 note\n");
  CHECK(has_problem(checks));
  CHECK_FALSE(has_problem({checks.at(0), checks.at(1)}));
  const Json json = doctor_json(checks);
  CHECK(json["problems"] == 1);
  CHECK(json["notes"] == 1);
  CHECK(json["checks"][0]["remedy"].is_null());
  CHECK(json["checks"][0]["details"] == Json::array({"detail"}));
  CHECK(
      json["checks"][2] ==
      Json({{"name", "b"}, {"state", "problem"}, {"found", "bad"}, {"remedy", "do that"}, {"details", Json::array()}}));
}
