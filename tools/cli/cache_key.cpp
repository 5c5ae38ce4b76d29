#include "cache_key.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "failure.hpp"

namespace mgemm::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::int32_t>, 4> kinds{{{"ptx", MGEMM_CACHE_PTX},
                                                                          {"machine-code", MGEMM_CACHE_MACHINE_CODE},
                                                                          {"memo", MGEMM_CACHE_MEMO},
                                                                          {"verdict", MGEMM_CACHE_VERDICT}}};

bool is_meant(const Json& entry, const KeyChoice& choice) {
  return shown(entry, "key").starts_with(choice.prefix) && (choice.kind.empty() || shown(entry, "kind") == choice.kind);
}

}  // namespace

std::int32_t kind_of(std::string_view name) {
  for (const auto& [known, kind] : kinds)
    if (known == name) return kind;
  return 0;
}

KeyChoice parse_key(const std::string& text) {
  constexpr std::size_t shortest = 4, longest = 64;
  const std::size_t colon = std::min(text.find(':'), text.size());
  KeyChoice choice{text.substr(0, colon), text.substr(std::min(colon + 1, text.size()))};
  for (char& digit : choice.prefix)
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  if (choice.prefix.size() < shortest || choice.prefix.size() > longest ||
      choice.prefix.find_first_not_of("0123456789abcdef") != std::string::npos)
    bad_input("key {}: must be {} to {} hexadecimal digits, the start of a key", text, shortest, longest);
  if (colon != text.size() && kind_of(choice.kind) == 0)
    bad_input("key {}: the kind after ':' must be ptx, machine-code, memo or verdict", text);
  return choice;
}

Json choose_entry(const Json& entries, const KeyChoice& choice) {
  std::vector<Json> found;
  for (const Json& entry : entries)
    if (is_meant(entry, choice)) found.push_back(entry);
  if (found.empty()) return nullptr;
  if (found.size() == 1) return found.front();
  std::string names;
  for (const Json& entry : found) names += fmt::format("\n  {}:{}", shown(entry, "key"), shown(entry, "kind"));
  bad_input("key {}: {} entries could be meant:{}", choice.prefix, found.size(), names);
}

std::int64_t parse_duration(const std::string& text) {
  constexpr std::array<std::pair<char, std::int64_t>, 4> units{{{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}}};
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  const auto* const unit = std::find_if(
      units.begin(), units.end(), [&](const auto& row) { return result.ptr + 1 == end && row.first == *result.ptr; });
  std::int64_t seconds = 0;
  const bool is_number = result.ec == std::errc{} && number >= 0 && unit != units.end();
  if (!is_number || __builtin_mul_overflow(number, unit->second, &seconds))
    bad_input("--older-than {}: must be a number with s, m, h or d, for example 90s or 7d", text);
  return seconds;
}

}  // namespace mgemm::cli
