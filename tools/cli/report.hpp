#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compare.hpp"
#include "mamba_gemm/mamba_gemm.h"

namespace mgemm::cli {

using Json = nlohmann::ordered_json;

/// What `run` found out.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a Json does not throw, its checks only look so
struct RunReport {
  mgemm_device_info device{};
  mgemm_description description{};
  std::vector<double> seconds;        // of each timed run
  double multiply_adds = 0;           // of one run
  std::optional<std::uint64_t> seed;  // where the data were drawn
  std::string written;                // output file, or ""
  Comparison check;
  Json cache;     // the counters of this process
  Json launches;  // of each kernel that it launched
};

std::string run_text(const RunReport& report);
Json run_json(const RunReport& report);

struct VerifyReport {
  mgemm_device_info device{};
  mgemm_description description{};
  std::uint64_t seed = 0;
  std::int32_t out_type = MGEMM_TYPE_F32;
  mgemm_verify_report result{};
};

std::string verify_text(const VerifyReport& report);
Json verify_json(const VerifyReport& report);

/// The environment object of the library as a table. No key is relied on.
std::string environment_text(const Json& environment);

/// A value as it is shown to people, "-" if it is absent or null.
std::string shown(const Json& object, const char* key);

/// Null if it is absent.
Json part(const Json& object, const char* key);

/// One object and a newline; text that is not UTF-8 is replaced rather than refused.
std::string dump(const Json& json);

}  // namespace mgemm::cli
