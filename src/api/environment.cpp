#include <nlohmann/json.hpp>

#include "api/boundary.hpp"
#include "base/thread_pool.hpp"
#include "cache/location.hpp"
#include "compile/nvrtc_table.hpp"
#include "device/cuda_device.hpp"
#include "numeric/evaluator.hpp"

using namespace mgemm;

namespace {

using Json = nlohmann::ordered_json;

/// A driver that is missing has no devices; one that is there and fails is an error.
int device_count() {
  try {
    int count = 0;
    check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
    return count;
  } catch (const Error& error) {
    if (error.status() == MGEMM_NO_DEVICE) return 0;
    throw;
  }
}

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Json driver_json() {
  const bool available = find_driver() != nullptr;
  Json json{{"available", available}};
  if (available) {
    json["version"] = cuda_version_text(driver_version());
  } else {
    json["error"] = driver_reason();
  }
  return json;
}

Json devices_json() {
  auto devices = Json::array();
  const int count = find_driver() == nullptr ? 0 : device_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const DeviceFacts facts = read_facts(driver(), ordinal);
    devices.push_back({{"ordinal", ordinal},
                       {"name", facts.name},
                       {"compute_capability", fmt::format("{}.{}", facts.compute_major, facts.compute_minor)},
                       {"multiprocessors", facts.multiprocessors},
                       {"memory_bytes", facts.memory_bytes}});
  }
  return devices;
}

Json nvrtc_json() {
  const NvrtcReport& report = nvrtc_report(driver_version());
  Json json{{"available", report.available}};
  if (report.available) {
    json["path"] = report.path;
    json["version"] = to_string(report.version);
  } else {
    json["error"] = report.reason;
  }
  auto places = Json::array();
  for (const SourcePlaces& searched : report.places) {
    auto paths = Json::array();
    for (const auto& path : searched.places) paths.push_back(path.string());
    places.push_back({{"source", searched.source}, {"note", searched.note}, {"places", paths}});
  }
  json["searched"] = places;
  auto candidates = Json::array();
  for (const NvrtcCandidate& candidate : report.candidates) {
    candidates.push_back({{"path", candidate.path},
                          {"source", candidate.source},
                          {"version", to_string(candidate.version)},
                          {"verdict", candidate.verdict}});
  }
  json["candidates"] = candidates;
  return json;
}

std::string environment_json() {
  const CacheLocation cache = cache_location();
  Json json;
  json["version"] = mgemm_version_string();
  json["source_hash"] = mgemm_source_hash();
  json["build"] = mgemm_build_info();
  json["evaluator"] = {{"isa", name_of(best_isa())}, {"threads", default_threads()}};
  json["driver"] = driver_json();
  json["devices"] = devices_json();
  json["nvrtc"] = nvrtc_json();
  json["cache"] = {{"path", cache.path}, {"rule", cache.rule}};
  // Paths may hold any bytes; what is not UTF-8 is replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

mgemm_status mgemm_device_count(int32_t* count) noexcept {
  return guarded([&] {
    require_not_null(count, "count");
    *count = device_count();
  });
}

mgemm_status mgemm_environment_json(char* buffer, size_t capacity, size_t* needed) noexcept {
  return guarded([&] { give_string(environment_json(), buffer, capacity, needed); });
}

mgemm_status mgemm_cache_path(char* buffer, size_t capacity, size_t* needed) noexcept {
  return guarded([&] { give_string(cache_location().path, buffer, capacity, needed); });
}
