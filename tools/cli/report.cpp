#include "report.hpp"

#include <bit>
#include <string_view>

#include <fmt/core.h>

#include "cache_report.hpp"
#include "statistics.hpp"

namespace mgemm::cli {
namespace {

template <std::size_t Size>
std::string text_of(const char (&field)[Size]) {
  const std::string_view all(field, Size);
  return std::string(all.substr(0, all.find('\0')));
}

double tera_flops(const RunReport& report, double seconds) {
  return seconds > 0 ? 2 * report.multiply_adds / seconds * 1e-12 : 0;
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} us", seconds * 1e6);
}

std::string hex_text(std::int32_t type, std::uint32_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * mamba_gemm::element_bytes(type));
}

std::string bits_text(std::int32_t type, std::uint32_t bits) {
  return fmt::format("{} ({:.9g})", hex_text(type, bits), value_in(type, bits));
}

std::string device_text(const mgemm_device_info& device) {
  if (device.kind == MGEMM_DEVICE_REFERENCE)
    return fmt::format("reference (host evaluator, {} threads)", device.multiprocessors);
  return fmt::format("cuda:{} ({}, compute capability {}.{}, {} multiprocessors)", device.ordinal, text_of(device.name),
                     device.compute_major, device.compute_minor, device.multiprocessors);
}

std::string plan_text(const mgemm_device_info& device, const mgemm_description& description) {
  return fmt::format(
      "problem: {}\n"
      "device: {}\n"
      "contract: {}\n"
      "kernel: {}\n"
      "identity: {}\n"
      "slices: {}\n",
      text_of(description.problem), device_text(device), text_of(description.contract), text_of(description.kernel),
      text_of(description.identity), description.slices);
}

std::string mismatch_text(const Mismatch& first) {
  return fmt::format("first mismatch: row {}, column {}: got {}, expected {}\n", first.row, first.column,
                     bits_text(first.type, first.got), bits_text(first.type, first.expected));
}

std::string check_text(const Comparison& check) {
  std::string text = fmt::format("bits: {} of {} {}elements equal the contract", check.equal, check.checked,
                                 check.sampled ? "sampled " : "");
  if (check.sampled) text += fmt::format(" (the output has {})", check.elements);
  text += '\n';
  if (check.gap_elements != 0)
    text += fmt::format("gap: {} of {} elements between the rows are untouched\n",
                        check.gap_elements - check.gap_changed, check.gap_elements);
  if (check.first) text += mismatch_text(*check.first);
  return text;
}

Json plan_json(const mgemm_device_info& device, const mgemm_description& description) {
  return {{"problem", text_of(description.problem)},
          {"device",
           {{"kind", device.kind == MGEMM_DEVICE_REFERENCE ? "reference" : "cuda"},
            {"ordinal", device.ordinal},
            {"name", text_of(device.name)},
            {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
            {"multiprocessors", device.multiprocessors}}},
          {"contract", text_of(description.contract)},
          {"kernel", text_of(description.kernel)},
          {"identity", text_of(description.identity)},
          {"slices", description.slices}};
}

Json mismatch_json(const Mismatch& first) {
  return {{"row", first.row},
          {"column", first.column},
          {"got", hex_text(first.type, first.got)},
          {"expected", hex_text(first.type, first.expected)}};
}

Json check_json(const Comparison& check) {
  return {{"scope", check.sampled ? "sample" : "all"},
          {"elements", check.elements},
          {"checked", check.checked},
          {"equal", check.equal},
          {"gap_elements", check.gap_elements},
          {"gap_changed", check.gap_changed},
          {"first_mismatch", check.first ? mismatch_json(*check.first) : Json(nullptr)}};
}

std::optional<Mismatch> first_of(const VerifyReport& report) {
  const mgemm_verify_report& result = report.result;
  if (result.mismatches == 0) return std::nullopt;
  return Mismatch{result.first_row, result.first_column, result.got, result.expected, report.out_type};
}

std::string availability(const Json& component) {
  const Json available = part(component, "available");
  if (available == true) {
    const std::string path = shown(component, "path");
    return fmt::format("{}version {}", path == "-" ? "" : path + ", ", shown(component, "version"));
  }
  const std::string error = shown(component, "error");
  return error == "-" ? "not available" : "not available: " + error;
}

std::string helper_text(const Json& helper) {
  const std::string path = shown(helper, "path");
  return path == "-" ? "none: " + shown(helper, "error") : fmt::format("{} ({})", path, shown(helper, "source"));
}

}  // namespace

std::string shown(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return "-";
  const Json& value = object[key];
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json part(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

std::string run_text(const RunReport& report) {
  const double seconds = median(report.seconds);
  std::string text = plan_text(report.device, report.description);
  text += fmt::format("time: {} (median of {}, wall clock, each run with its synchronize)\n", time_text(seconds),
                      report.seconds.size());
  text += fmt::format("rate: {:.4g} TFLOP/s\n", tera_flops(report, seconds));
  if (report.device.kind == MGEMM_DEVICE_CUDA) text += counters_text(report.cache);
  text += check_text(report.check);
  if (!report.written.empty()) text += fmt::format("written: {}\n", report.written);
  return text;
}

Json run_json(const RunReport& report) {
  const double seconds = median(report.seconds);
  Json json = plan_json(report.device, report.description);
  if (report.seed) json["seed"] = *report.seed;
  json["time"] = {{"median_seconds", seconds},
                  {"runs", report.seconds.size()},
                  {"clock", "wall clock, each run with its synchronize"},
                  {"tflops", tera_flops(report, seconds)}};
  json["check"] = check_json(report.check);
  json["cache"] = report.cache;
  json["launches"] = report.launches;
  if (!report.written.empty()) json["written"] = report.written;
  json["passed"] = report.check.passed();
  return json;
}

std::string verify_text(const VerifyReport& report) {
  std::string text = plan_text(report.device, report.description);
  text += fmt::format("bits: {} of {} elements of a shadow run equal the contract\n",
                      report.result.checked - report.result.mismatches, report.result.checked);
  if (const std::optional<Mismatch> first = first_of(report)) text += mismatch_text(*first);
  return text;
}

Json verify_json(const VerifyReport& report) {
  const std::optional<Mismatch> first = first_of(report);
  Json json = plan_json(report.device, report.description);
  json["seed"] = report.seed;
  json["check"] = {{"scope", "shadow run"},
                   {"checked", report.result.checked},
                   {"mismatches", report.result.mismatches},
                   {"first_mismatch", first ? mismatch_json(*first) : Json(nullptr)}};
  json["passed"] = report.result.mismatches == 0;
  return json;
}

std::string environment_text(const Json& environment) {
  const Json evaluator = part(environment, "evaluator");
  const Json nvrtc = part(environment, "nvrtc");
  const Json cache = part(environment, "cache");
  std::string text = fmt::format("library    {}\n", shown(environment, "version"));
  text += fmt::format("build      {}\n", shown(environment, "build"));
  text += fmt::format("sources    {}\n", shown(environment, "source_hash"));
  text += fmt::format("evaluator  {}, {} threads\n", shown(evaluator, "isa"), shown(evaluator, "threads"));
  text += fmt::format("driver     {}\n", availability(part(environment, "driver")));
  const Json devices = part(environment, "devices");
  if (!devices.is_array() || devices.empty()) text += "devices    none\n";
  for (const Json& device : devices.is_array() ? devices : Json::array()) {
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    const Json bytes = part(device, "memory_bytes");
    text +=
        fmt::format("device     cuda:{}  {}, compute capability {}, {} multiprocessors, {}\n", shown(device, "ordinal"),
                    shown(device, "name"), shown(device, "compute_capability"), shown(device, "multiprocessors"),
                    bytes.is_number() ? fmt::format("{:.1f} GiB", bytes.get<double>() / gibibyte) : "-");
  }
  text += fmt::format("nvrtc      {}\n", availability(nvrtc));
  const Json searched = part(nvrtc, "searched");
  for (const Json& places : searched.is_array() ? searched : Json::array())
    text += fmt::format("           looked in {}: {}\n", shown(places, "source"), shown(places, "note"));
  const Json candidates = part(nvrtc, "candidates");
  for (const Json& candidate : candidates.is_array() ? candidates : Json::array())
    text += fmt::format("           {}  (from {}, version {}): {}\n", shown(candidate, "path"),
                        shown(candidate, "source"), shown(candidate, "version"), shown(candidate, "verdict"));
  text += fmt::format("helper     {}\n", helper_text(part(environment, "helper")));
  const std::string path = shown(cache, "path");
  text += fmt::format("cache      {} ({})\n", path.empty() || path == "-" ? "none" : path, shown(cache, "rule"));
  return text;
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace mgemm::cli
