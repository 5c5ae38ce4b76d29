#include <optional>

#include "api/boundary.hpp"
#include "api/cache_counters.hpp"
#include "api/cache_json.hpp"

using namespace mgemm;

namespace {

CacheLocation location_of(const char* cache_dir) { return cache_location_for(cache_dir, "cache_dir"); }

/// Only for looking: what is not there stays so.
Store store_of(const CacheLocation& location) { return Store(location.path, {.creation = Creation::never}); }

/// The folder of `location`; MGEMM_NO_ENTRY if there is none, MGEMM_IO if it is refused.
PrivateDirectory require_directory(const CacheLocation& location) {
  if (location.path.empty()) fail(MGEMM_NO_ENTRY, "there is no cache: {}", location.rule);
  DirectoryResult opened = open_private_directory(location.path, Creation::never);
  if (opened.directory) return std::move(*opened.directory);
  fail(opened.refusal.is_absent ? MGEMM_NO_ENTRY : MGEMM_IO, "the cache: {}", to_string(opened.refusal));
}

FolderState state_of(const CacheLocation& location) {
  FolderState state;
  const Store store = store_of(location);
  state.totals.cap = store.cap();
  if (location.path.empty()) return state;
  const DirectoryResult opened = open_private_directory(location.path, Creation::never);
  state.exists = !opened.refusal.is_absent;
  if (opened.directory) {
    state.totals = cache_totals(store);
  } else if (state.exists) {
    state.refusal = to_string(opened.refusal);
    state.remedy = opened.refusal.remedy;
  }
  return state;
}

EntryName entry_of(const char* key, std::int32_t kind) {
  require_not_null(key, "key");
  const std::optional<Digest> digest = digest_from_hex(key);
  if (!digest) invalid("key is '{}'; it must be 64 lower-case hexadecimal digits", key);
  if (kind < 1 || kind > static_cast<std::int32_t>(kind_count)) {
    invalid("kind is {}; it must be MGEMM_CACHE_PTX (1) .. MGEMM_CACHE_VERDICT ({})", kind, kind_count);
  }
  return {*digest, static_cast<Kind>(kind)};
}

std::string payload_of(const CacheLocation& location, const EntryName& name) {
  const PrivateDirectory directory = require_directory(location);
  EntryFile file = read_entry_file(directory.descriptor(), name);
  if (file.entry) return std::move(file.entry->payload);
  const std::string shown = entry_name(name.key, name.kind);
  if (file.reject == Reject::none) fail(MGEMM_NO_ENTRY, "{} has no entry {}", directory.path(), shown);
  fail(MGEMM_IO, "the entry {} in {} is not sound: {}{}", shown, directory.path(), explain(file.reject),
       file.error == 0 ? "" : ": " + os::message(file.error));
}

/// Bytes as the caller's: like give_string, without a NUL.
void give_bytes(std::string_view bytes, void* buffer, size_t capacity, size_t* needed) {
  if (needed != nullptr) *needed = bytes.size();
  if (buffer == nullptr) {
    if (capacity != 0) invalid("buffer is NULL and capacity is {}; it must be 0 then", capacity);
    return;
  }
  if (capacity < bytes.size()) invalid("capacity is {}; {} bytes are needed", capacity, bytes.size());
  std::memcpy(buffer, bytes.data(), bytes.size());
}

mgemm_cache_report report_of(const Removal& removal) {
  mgemm_cache_report report{};
  report.removed = removal.removed;
  report.failed = removal.failed;
  report.bytes = removal.bytes;
  return report;
}

}  // namespace

mgemm_status mgemm_cache_path(char* buffer, size_t capacity, size_t* needed) noexcept {
  return guarded([&] { give_string(cache_location().path, buffer, capacity, needed); });
}

mgemm_status mgemm_cache_get_counters(mgemm_cache_counters* counters) noexcept {
  return guarded([&] {
    checked_struct_size(counters, "counters");
    write_struct(counters, counters_of_process());
  });
}

mgemm_status mgemm_cache_list_json(const char* cache_dir, char* buffer, size_t capacity, size_t* needed) noexcept {
  return guarded([&] {
    const CacheLocation location = location_of(cache_dir);
    const Store store = store_of(location);
    give_string(list_json(location, list_entries(store)), buffer, capacity, needed);
  });
}

mgemm_status mgemm_cache_totals_json(const char* cache_dir, char* buffer, size_t capacity, size_t* needed) noexcept {
  return guarded([&] {
    const CacheLocation location = location_of(cache_dir);
    give_string(totals_json(location, state_of(location)), buffer, capacity, needed);
  });
}

mgemm_status mgemm_cache_payload(const char* cache_dir, const char* key, int32_t kind, void* buffer, size_t capacity,
                                 size_t* needed) noexcept {
  return guarded([&] {
    const EntryName name = entry_of(key, kind);
    give_bytes(payload_of(location_of(cache_dir), name), buffer, capacity, needed);
  });
}

mgemm_status mgemm_cache_verify(const char* cache_dir, int32_t repair, mgemm_cache_report* report) noexcept {
  return guarded([&] {
    checked_struct_size(report, "report");
    if (repair != 0 && repair != 1) invalid("repair is {}; it must be 0 or 1", repair);
    const Store store = store_of(location_of(cache_dir));
    const Verification found = verify_entries(store, repair == 1);
    mgemm_cache_report result = report_of(found.removal);
    result.sound = found.sound;
    result.bad = found.bad.size();
    write_struct(report, result);
  });
}

mgemm_status mgemm_cache_purge(const char* cache_dir, int64_t older_than_seconds, mgemm_cache_report* report) noexcept {
  return guarded([&] {
    checked_struct_size(report, "report");
    if (older_than_seconds < -1) {
      invalid("older_than_seconds is {}; it must be at least 0, or -1 for all entries", older_than_seconds);
    }
    const Store store = store_of(location_of(cache_dir));
    std::optional<std::chrono::seconds> older_than;
    if (older_than_seconds >= 0) older_than = std::chrono::seconds(older_than_seconds);
    write_struct(report, report_of(purge_entries(store, older_than)));
  });
}
