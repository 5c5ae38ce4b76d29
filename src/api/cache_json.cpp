#include "api/cache_json.hpp"

#include "api/cache_counters.hpp"
#include "api/fields_json.hpp"

namespace mgemm {
namespace {

void write_location(JsonWriter& json, const CacheLocation& location) {
  json.member("path", location.path);
  json.member("rule", location.rule);
}

void write_entry(JsonWriter& json, const EntryInfo& entry) {
  const bool is_sound = entry.reject == Reject::none;
  const auto if_sound = [is_sound](auto value) { return is_sound ? std::optional(std::move(value)) : std::nullopt; };
  json.object([&] {
    json.member("key", to_hex(entry.key));
    json.member("kind", to_string(entry.kind));
    json.member("bytes", entry.bytes);
    json.member("age_seconds", entry.age_seconds);
    json.member("sound", is_sound);
    json.member("problem", is_sound ? std::nullopt : std::optional(entry.problem));
    json.member("payload_bytes", if_sound(entry.payload_bytes));
    json.member("payload_sha256", if_sound(to_hex(entry.payload_digest)));
    json.member("fields", [&] { write_fields(json, entry.fields); });
  });
}

void write_kinds(JsonWriter& json, const Totals& totals) {
  json.object([&] {
    for (size_t i = 0; i < kind_count; ++i) {
      json.member(to_string(static_cast<Kind>(i + 1)), [&] {
        json.object([&] {
          json.member("entry_count", totals.entries_of_kind.at(i));
          json.member("bytes", totals.bytes_of_kind.at(i));
        });
      });
    }
  });
}

}  // namespace

std::string list_json(const CacheLocation& location, const std::vector<EntryInfo>& entries) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    write_location(json, location);
    json.member("entries", [&] {
      json.array([&] {
        for (const EntryInfo& entry : entries) write_entry(json, entry);
      });
    });
  });
  return text;
}

std::string totals_json(const CacheLocation& location, const FolderState& state) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    write_location(json, location);
    json.member("exists", state.exists);
    json.member("refusal", state.refusal.empty() ? std::nullopt : std::optional(state.refusal));
    json.member("remedy", state.remedy.empty() ? std::nullopt : std::optional(state.remedy));
    json.member("cap", state.totals.cap);
    json.member("entry_count", state.totals.entries);
    json.member("bytes", state.totals.bytes);
    json.member("kinds", [&] { write_kinds(json, state.totals); });
    json.member("temporaries", state.totals.temporaries);
    json.member("others", state.totals.others);
    json.member("counters", [&] { write_counters(json, counters_of_process()); });
  });
  return text;
}

}  // namespace mgemm
