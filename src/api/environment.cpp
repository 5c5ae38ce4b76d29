#include <cstdlib>

#include "api/boundary.hpp"
#include "api/variables.hpp"
#include "base/json_writer.hpp"
#include "base/thread_pool.hpp"
#include "cache/location.hpp"
#include "catalogue/targets.hpp"
#include "compile/compiler.hpp"
#include "compile/helper_path.hpp"
#include "compile/nvrtc_table.hpp"
#include "device/cuda_device.hpp"
#include "numeric/evaluator.hpp"

using namespace mgemm;

namespace {

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

void write_evaluator(JsonWriter& json) {
  json.object([&] {
    json.member("isa", name_of(best_isa()));
    json.member("threads", default_threads());
  });
}

void write_driver(JsonWriter& json) {
  const bool available = find_driver() != nullptr;
  json.object([&] {
    json.member("available", available);
    json.member("oldest", cuda_version_text(oldest_driver_version));
    if (available) {
      json.member("version", cuda_version_text(driver_version()));
    } else {
      json.member("status", mgemm_status_name(driver_status()));
      json.member("error", driver_reason());
    }
  });
}

/// "sm_90a"; nullopt if the library has no kernels for such a device.
std::optional<std::string> target_of(const DeviceFacts& facts) {
  const std::string_view target = compile_target(facts.compute_major, facts.compute_minor);
  return target.empty() ? std::nullopt : std::optional(machine_target(target));
}

void write_device(JsonWriter& json, int ordinal) {
  const DeviceFacts facts = read_facts(driver(), ordinal);
  json.object([&] {
    json.member("ordinal", ordinal);
    json.member("name", facts.name);
    json.member("compute_capability", fmt::format("{}.{}", facts.compute_major, facts.compute_minor));
    json.member("target", target_of(facts));
    json.member("multiprocessors", facts.multiprocessors);
    json.member("memory_bytes", facts.memory_bytes);
  });
}

void write_devices(JsonWriter& json) {
  const int count = find_driver() == nullptr ? 0 : device_count();
  json.array([&] {
    for (int ordinal = 0; ordinal < count; ++ordinal) write_device(json, ordinal);
  });
}

void write_places(JsonWriter& json, const SourcePlaces& searched) {
  json.object([&] {
    json.member("source", searched.source);
    json.member("note", searched.note);
    json.member("places", [&] {
      json.array([&] {
        for (const auto& path : searched.places) json.value(path.native());
      });
    });
  });
}

void write_candidate(JsonWriter& json, const NvrtcCandidate& candidate) {
  json.object([&] {
    json.member("path", candidate.path);
    json.member("source", candidate.source);
    json.member("version", to_string(candidate.version));
    json.member("builtins", candidate.builtins.empty() ? std::nullopt : std::optional(candidate.builtins));
    json.member("newer_than_driver", candidate.is_newer_than_driver);
    json.member("verdict", candidate.verdict);
  });
}

void write_nvrtc(JsonWriter& json) {
  const NvrtcReport& report = nvrtc_report(driver_version());
  json.object([&] {
    json.member("available", report.available);
    json.member("oldest", to_string(oldest_nvrtc));
    if (report.available) {
      json.member("path", report.path);
      json.member("version", to_string(report.version));
    } else {
      json.member("error", report.reason);
    }
    json.member("searched", [&] {
      json.array([&] {
        for (const SourcePlaces& searched : report.places) write_places(json, searched);
      });
    });
    json.member("candidates", [&] {
      json.array([&] {
        for (const NvrtcCandidate& candidate : report.candidates) write_candidate(json, candidate);
      });
    });
  });
}

void write_helper(JsonWriter& json) {
  const HelperLocation helper = find_helper(process_environment());
  json.object([&] {
    if (helper.path.empty()) {
      json.member("error", helper.reason);
    } else {
      json.member("path", helper.path);
      json.member("source", helper.source);
    }
  });
}

void write_cache(JsonWriter& json) {
  const CacheLocation cache = cache_location();
  json.object([&] {
    json.member("path", cache.path);
    json.member("rule", cache.rule);
  });
}

void write_variable(JsonWriter& json, const KnownVariable& variable) {
  const char* const value = std::getenv(variable.name);
  const std::string problem = value == nullptr ? "" : variable.objection(value);
  json.object([&] {
    json.member("name", variable.name);
    json.member("reader", variable.reader);
    json.member("value", value == nullptr ? std::nullopt : std::optional<std::string_view>(value));
    json.member("problem", problem.empty() ? std::nullopt : std::optional(problem));
  });
}

void write_variables(JsonWriter& json) {
  json.array([&] {
    for (const KnownVariable& variable : known_variables()) write_variable(json, variable);
  });
}

/// The texts about the library, which are "" where memory ran out as they were made.
const char* made(const char* text) {
  if (text[0] == '\0') throw std::bad_alloc();
  return text;
}

std::string environment_json() {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    json.member("version", made(mgemm_version_string()));
    json.member("source_hash", made(mgemm_source_hash()));
    json.member("build", made(mgemm_build_info()));
    json.member("evaluator", [&] { write_evaluator(json); });
    json.member("driver", [&] { write_driver(json); });
    json.member("devices", [&] { write_devices(json); });
    json.member("nvrtc", [&] { write_nvrtc(json); });
    json.member("helper", [&] { write_helper(json); });
    json.member("cache", [&] { write_cache(json); });
    json.member("variables", [&] { write_variables(json); });
  });
  return text;
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
