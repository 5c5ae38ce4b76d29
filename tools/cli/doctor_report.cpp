#include "doctor_report.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

namespace mgemm::cli {
namespace {

constexpr std::array<const char*, 3> state_names{"ok", "note", "problem"};

const char* name_of(State state) { return state_names.at(static_cast<std::size_t>(state)); }

std::int64_t count_of(const std::vector<Check>& checks, State state) {
  return std::count_if(checks.begin(), checks.end(), [state](const Check& check) { return check.state == state; });
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string doctor_text(const std::vector<Check>& checks) {
  std::size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.name.size());
  std::string text;
  for (const Check& check : checks) {
    text += fmt::format("{:<7}  {:<{}}  {}\n", name_of(check.state), check.name, width, check.found);
    const auto below = [&](std::string_view line) { text += fmt::format("{:<7}  {:<{}}  {}\n", "", "", width, line); };
    for (const std::string& detail : check.details) below("- " + detail);
    if (check.state != State::ok) below("=> " + check.remedy);
  }
  return text + fmt::format("{}: {}, {}\n", counted(static_cast<std::int64_t>(checks.size()), "check"),
                            counted(count_of(checks, State::problem), "problem"),
                            counted(count_of(checks, State::note), "note"));
}

Json doctor_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"state", name_of(check.state)},
                    {"found", check.found},
                    {"remedy", check.state == State::ok ? Json(nullptr) : Json(check.remedy)},
                    {"details", check.details}});
  }
  return {{"checks", std::move(list)},
          {"problems", count_of(checks, State::problem)},
          {"notes", count_of(checks, State::note)}};
}

bool has_problem(const std::vector<Check>& checks) { return count_of(checks, State::problem) != 0; }

}  // namespace mgemm::cli
