// What `mamba-gemm doctor` found, as a table for people and as JSON.
#pragma once
#include <string>
#include <vector>

#include "report.hpp"

namespace mgemm::cli {

/// A note costs something or is worth knowing; a problem keeps something from working as asked.
enum class State { ok, note, problem };

/// One thing that was looked at.
struct Check {
  std::string name;
  State state = State::ok;
  std::string found;
  std::string remedy{};                // what to do about it, unless all is well
  std::vector<std::string> details{};  // for whoever wants to know why
};

/// A line for each check, its details and its remedy below, and the counts in the last one.
std::string doctor_text(const std::vector<Check>& checks);

/// {"checks": [{"name", "state", "found", "remedy", "details"}, ..], "problems", "notes"}.
Json doctor_json(const std::vector<Check>& checks);

bool has_problem(const std::vector<Check>& checks);

}  // namespace mgemm::cli
