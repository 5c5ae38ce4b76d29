#include "doctor_variables.hpp"

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "doctor_checks.hpp"
#include "nearest_name.hpp"

namespace mgemm::cli {
namespace {

constexpr std::string_view prefix = "MAMBA_GEMM";

bool begins_like_ours(std::string_view name) {
  return name.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), name.begin(), [](char a, char b) {
           return a == std::toupper(static_cast<unsigned char>(b));
         });
}

Check check_known(const Json& variable) {
  const std::string name = shown(variable, "name");
  if (!part(variable, "problem").is_string()) return {name, State::ok, fmt::format("'{}'", shown(variable, "value"))};
  if (part(variable, "reader") == "library")
    return {name, State::problem, shown(variable, "problem"), correction_of(name)};
  return {name, State::note, shown(variable, "problem"), fmt::format("unset {} unless this is meant", name)};
}

Check check_unknown(const std::string& name, std::span<const std::string> known) {
  const std::string nearest = nearest_name(name, known);
  std::string remedy;
  if (nearest.empty()) {
    remedy = fmt::format("unset {}; the README lists the variables that there are", name);
  } else {
    remedy = fmt::format("set {} instead, if that is meant, and unset {}", nearest, name);
  }
  return {name, State::problem, "no variable of this release, so it does nothing", std::move(remedy)};
}

}  // namespace

Json list_in(const Json& object, const char* key) {
  Json list = part(object, key);
  return list.is_array() ? list : Json::array();
}

Json variable_named(const Json& environment, std::string_view name) {
  for (const Json& variable : list_in(environment, "variables"))
    if (shown(variable, "name") == name) return variable;
  return {};
}

bool is_to_blame(const Json& environment, std::string_view name) {
  const Json variable = variable_named(environment, name);
  return part(variable, "reader") == "library" && part(variable, "problem").is_string();
}

std::string correction_of(std::string_view name) { return fmt::format("correct {}, or unset it", name); }

Check blame(std::string what, std::string_view variable) {
  return {std::move(what), State::note, fmt::format("none, because of {}", variable),
          fmt::format("correct {} first, see there", variable)};
}

std::vector<Check> check_variables(const Json& environment, const std::vector<std::string>& variables) {
  std::vector<Check> checks;
  std::vector<std::string> known, ours;
  for (const Json& variable : list_in(environment, "variables")) {
    known.push_back(shown(variable, "name"));
    if (part(variable, "reader") == "library") ours.push_back(known.back());
    if (!part(variable, "value").is_null()) checks.push_back(check_known(variable));
  }
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    if (begins_like_ours(name) && std::find(known.begin(), known.end(), name) == known.end())
      checks.push_back(check_unknown(name, ours));
  }
  if (checks.empty()) checks.push_back({"variables", State::ok, "none is set that counts"});
  return checks;
}

}  // namespace mgemm::cli
