#include "cache_report.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace mgemm::cli {
namespace {

std::uint64_t number_of(const Json& object, const char* key) {
  const Json number = part(object, key);
  return number.is_number() ? number.get<std::uint64_t>() : 0;
}

/// Of all kinds.
std::uint64_t sum_of(const Json& numbers) {
  std::uint64_t sum = 0;
  for (const auto& [kind, number] : numbers.items()) sum += number.is_number() ? number.get<std::uint64_t>() : 0;
  return sum;
}

std::string age_text(std::uint64_t seconds) {
  constexpr std::uint64_t minute = 60, hour = 3600, day = 86400;
  if (seconds >= 2 * day) return fmt::format("{} days", seconds / day);
  if (seconds >= hour) return fmt::format("{} h", seconds / hour);
  if (seconds >= minute) return fmt::format("{} min", seconds / minute);
  return fmt::format("{} s", seconds);
}

/// Text from a file for a terminal, which must not obey it: without the controls of ASCII and of Unicode's C1 block,
/// which are the bytes C2 80 to C2 9F.
std::string printable(std::string text) {
  constexpr unsigned char first_printable = 0x20, del = 0x7f, c1_lead = 0xc2, c1_last = 0x9f;
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : c1_lead; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_c1 = byte(i) == c1_lead && byte(i + 1) <= c1_last;
    if (byte(i) < first_printable || byte(i) == del || is_c1) text[i] = '?';
    if (is_c1) text[i + 1] = '?';
  }
  return text;
}

/// What an entry is of: the first of its fields that says so.
std::string subject_of(const Json& entry) {
  if (part(entry, "sound") != true) return "NOT SOUND: " + shown(entry, "problem");
  for (const Json& field : part(entry, "fields"))
    if (shown(field, "tag") == "module") return printable(shown(field, "value"));
  return "-";
}

constexpr std::size_t short_key = 16;

}  // namespace

std::string entries_text(std::uint64_t count) { return fmt::format("{} {}", count, count == 1 ? "entry" : "entries"); }

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::pair<double, const char*>, 3> units{
      {{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024.0, "KiB"}}};
  const auto exact = static_cast<double>(bytes);
  for (const auto& [size, unit] : units)
    if (exact >= size) return fmt::format("{:.1f} {}", exact / size, unit);
  return fmt::format("{} bytes", bytes);
}

std::string counters_text(const Json& counters) {
  return fmt::format("cache: {} hits, {} compiles\n", sum_of(part(counters, "hits")),
                     sum_of(part(counters, "compiles")));
}

std::string list_text(const Json& listing) {
  const Json entries = part(listing, "entries");
  std::string text = fmt::format("{:<16}  {:<12}  {:>11}  {:>8}  {}\n", "key", "kind", "size", "unused", "of");
  std::uint64_t bytes = 0;
  for (const Json& entry : entries) {
    bytes += number_of(entry, "bytes");
    text += fmt::format("{:<16}  {:<12}  {:>11}  {:>8}  {}\n", shown(entry, "key").substr(0, short_key),
                        shown(entry, "kind"), size_text(number_of(entry, "bytes")),
                        age_text(number_of(entry, "age_seconds")), subject_of(entry));
  }
  text += fmt::format("{}, {}, in {}\n", entries_text(entries.size()), size_text(bytes), shown(listing, "path"));
  return text;
}

std::string entry_text(const Json& entry) {
  std::string text = fmt::format("key       {}\n", shown(entry, "key"));
  text += fmt::format("kind      {}\n", shown(entry, "kind"));
  text += fmt::format("file      {} bytes, unused for {}\n", shown(entry, "bytes"),
                      age_text(number_of(entry, "age_seconds")));
  if (part(entry, "sound") != true) return text + fmt::format("state     not sound: {}\n", shown(entry, "problem"));
  text += "state     sound\n";
  text +=
      fmt::format("payload   {} bytes, SHA-256 {}\n", shown(entry, "payload_bytes"), shown(entry, "payload_sha256"));
  for (const Json& field : part(entry, "fields"))
    text += fmt::format("field     {}: {}\n", printable(shown(field, "tag")), printable(shown(field, "value")));
  return text;
}

std::string bad_entry_text(const Json& entry) {
  return fmt::format("{}:{} is not sound: {}\n", shown(entry, "key"), shown(entry, "kind"), shown(entry, "problem"));
}

std::string totals_text(const Json& totals) {
  const std::string path = shown(totals, "path");
  std::string text = fmt::format("folder        {} ({})\n", path.empty() ? "none" : path, shown(totals, "rule"));
  if (path.empty()) return text;
  if (const std::string refusal = shown(totals, "refusal"); refusal != "-") {
    return text + fmt::format("state         refused: {}\n", refusal);
  }
  text += fmt::format("state         {}\n", part(totals, "exists") == true ? "in use" : "not there yet");
  text += fmt::format("size          {} of {}, {}\n", size_text(number_of(totals, "bytes")),
                      size_text(number_of(totals, "cap")), entries_text(number_of(totals, "entry_count")));
  const Json kinds = part(totals, "kinds");
  for (const auto& [kind, numbers] : kinds.items())
    text += fmt::format("{:<12}  {}, {}\n", kind, entries_text(number_of(numbers, "entry_count")),
                        size_text(number_of(numbers, "bytes")));
  text += fmt::format("unfinished    {}\n", shown(totals, "temporaries"));
  text += fmt::format("other files   {}\n", shown(totals, "others"));
  return text;
}

}  // namespace mgemm::cli
