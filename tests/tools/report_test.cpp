#include "report.hpp"

#include <cstring>
#include <string>
#include <string_view>

#include "support/test.hpp"

using namespace mgemm::cli;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

RunReport report_of_two_by_two() {
  RunReport report;
  report.device.kind = MGEMM_DEVICE_CUDA;
  report.device.ordinal = 1;
  std::strcpy(report.device.name, "NVIDIA H200");
  std::strcpy(report.description.problem, "nn:f32:2x1000000x2");
  std::strcpy(report.description.contract, "F32_FMA/1");
  report.seconds = {3e-3, 1e-3, 2e-3, 100};
  report.multiply_adds = 4e6;
  report.cache = Json::parse(R"({"hits": {"ptx": 2}, "compiles": {"memo": 1}})");
  report.check.elements = report.check.checked = report.check.equal = 4;
  return report;
}

}  // namespace

// Catches a mean in place of the median, a rate that counts multiply-adds as one operation, and changed wording that
// scripts look for.
TEST_CASE("the run report says time, rate and bits") {
  const std::string text = run_text(report_of_two_by_two());
  CAPTURE(text);
  CHECK(contains(text, "device: cuda:1 (NVIDIA H200"));
  CHECK(contains(text, "time: 2.500 ms (median of 4, wall clock, each run with its synchronize)"));
  CHECK(contains(text, "rate: 0.0032 TFLOP/s"));
  CHECK(contains(text, "cache: 2 hits, 1 compiles\n"));
  CHECK(contains(text, "bits: 4 of 4 elements equal the contract\n"));
}

// Catches a line about a cache that the device does not use.
TEST_CASE("the run report of the reference device says nothing of the cache") {
  RunReport report = report_of_two_by_two();
  report.device.kind = MGEMM_DEVICE_REFERENCE;
  CHECK_FALSE(contains(run_text(report), "cache"));
}

// Catches a mismatch that is reported without its place or bits, or as passed.
TEST_CASE("the run report names the first mismatch") {
  RunReport report = report_of_two_by_two();
  report.check.equal = 3;
  report.check.first = Mismatch{1, 0, 0x3f800000U, 0x7fffffffU};
  const std::string text = run_text(report);
  CAPTURE(text);
  CHECK(contains(text, "bits: 3 of 4 elements"));
  CHECK(contains(text, "first mismatch: row 1, column 0: got 0x3f800000 (1), expected 0x7fffffff (nan)"));
  const Json json = run_json(report);
  CHECK(json["passed"] == false);
  CHECK(json["check"]["first_mismatch"]["expected"] == "0x7fffffff");
}

// Catches a table that relies on a key: the library may leave any of them out, or change a type.
TEST_CASE("the environment table takes any object") {
  CHECK(contains(environment_text(Json::object()), "devices    none"));
  CHECK_NOTHROW(environment_text(Json::parse(R"([1, 2])")));
  CHECK_NOTHROW(
      environment_text(Json::parse(R"({"devices": 3, "nvrtc": [], "cache": "x", "driver": {"available": 1}})")));
  const std::string text = environment_text(Json::parse(R"({
    "version": "0.1.0", "evaluator": {"isa": "avx2", "threads": 8},
    "driver": {"available": false, "error": "no libcuda.so.1"},
    "devices": [{"ordinal": 0, "name": "NVIDIA H200", "compute_capability": "9.0", "multiprocessors": 132,
                 "memory_bytes": 150323855360}],
    "nvrtc": {"available": true, "path": "/opt/libnvrtc.so.12", "version": "12.8",
              "candidates": [{"path": "/a", "source": "ld", "version": null, "verdict": "not found"}]},
    "helper": {"path": "/lib/mamba-gemm-assemble", "source": "beside the library"},
    "cache": {"path": "/c", "rule": "HOME"}})"));
  CAPTURE(text);
  CHECK(contains(text, "evaluator  avx2, 8 threads"));
  CHECK(contains(text, "driver     not available: no libcuda.so.1"));
  CHECK(contains(text, "cuda:0  NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140.0 GiB"));
  CHECK(contains(text, "nvrtc      /opt/libnvrtc.so.12, version 12.8"));
  CHECK(contains(text, "/a  (from ld, version -): not found"));
  CHECK(contains(text, "helper     /lib/mamba-gemm-assemble (beside the library)"));
  CHECK(contains(text, "cache      /c (HOME)"));
}

// Catches an exception on text that is not UTF-8, such as a file name.
TEST_CASE("JSON is written also for bytes that are not UTF-8") {
  RunReport report = report_of_two_by_two();
  report.written = "\xff.npy";
  CHECK_NOTHROW(Json::parse(dump(run_json(report))));
}
