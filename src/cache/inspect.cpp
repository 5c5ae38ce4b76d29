#include "cache/inspect.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <tuple>

#include "base/error.hpp"
#include "cache/names.hpp"

namespace mgemm {
namespace {

/// nullopt if there is no directory and that is all right.
std::optional<PrivateDirectory> directory_of(const Store& store) {
  if (store.directory().empty()) return std::nullopt;
  DirectoryResult opened = open_private_directory(store.directory(), Creation::never);
  if (!opened.directory && !opened.refusal.is_absent) fail(MGEMM_IO, "the cache: {}", to_string(opened.refusal));
  return std::move(opened.directory);
}

std::vector<std::string> names_of(const PrivateDirectory& directory) {
  std::vector<std::string> names;
  const int error = os::names_in(directory.descriptor(), names);
  if (error != 0) fail(MGEMM_IO, "could not list {}: {}", directory.path(), os::message(error));
  return names;
}

std::int64_t age_of(std::int64_t used_at) { return std::max<std::int64_t>(0, std::time(nullptr) - used_at); }

/// Whatever it is, gone. Empty folders too; full ones are not ours to delete.
void remove_name(const PrivateDirectory& directory, const std::string& name, std::uint64_t bytes, Removal& removal) {
  int error = os::unlink_at(directory.descriptor(), name);
  if (error == EISDIR) error = os::unlink_at(directory.descriptor(), name, AT_REMOVEDIR);
  if (error == 0) {
    ++removal.removed;
    removal.bytes += bytes;
  } else if (error != ENOENT) {
    ++removal.failed;
  }
}

EntryInfo info_of(const EntryName& name, EntryFile file) {
  EntryInfo info;
  info.key = name.key;
  info.kind = name.kind;
  info.bytes = file.bytes;
  info.age_seconds = age_of(file.used_at);
  info.reject = file.reject;
  if (file.reject != Reject::none) {
    info.problem = explain(file.reject);
    if (file.error != 0) info.problem += ": " + os::message(file.error);
  }
  if (file.entry) {
    info.fields = std::move(file.entry->fields);
    info.payload_bytes = file.entry->payload.size();
    info.payload_digest = file.entry->payload_digest;
  }
  return info;
}

std::vector<EntryInfo> entries_in(const PrivateDirectory& directory) {
  std::vector<EntryInfo> entries;
  for (const std::string& file_name : names_of(directory)) {
    const auto name = parse_entry_name(file_name);
    if (!name) continue;
    EntryFile file = read_entry_file(directory.descriptor(), *name);
    const bool is_gone = !file.entry && file.reject == Reject::none;
    if (!is_gone) entries.push_back(info_of(*name, std::move(file)));
  }
  std::ranges::sort(entries, [](const EntryInfo& a, const EntryInfo& b) {
    return std::tie(a.age_seconds, a.key.bytes, a.kind) < std::tie(b.age_seconds, b.key.bytes, b.kind);
  });
  return entries;
}

}  // namespace

std::vector<EntryInfo> list_entries(const Store& store) {
  const auto directory = directory_of(store);
  return directory ? entries_in(*directory) : std::vector<EntryInfo>();
}

Verification verify_entries(const Store& store, bool repair) {
  Verification result;
  const auto directory = directory_of(store);
  if (!directory) return result;
  for (EntryInfo& entry : entries_in(*directory)) {
    if (entry.reject == Reject::none) {
      ++result.sound;
      continue;
    }
    if (repair) remove_name(*directory, entry_name(entry.key, entry.kind), entry.bytes, result.removal);
    result.bad.push_back(std::move(entry));
  }
  return result;
}

Removal purge_entries(const Store& store, std::optional<std::chrono::seconds> older_than) {
  Removal result;
  const auto directory = directory_of(store);
  if (!directory) return result;
  for (const std::string& name : names_of(*directory)) {
    if (is_temporary_name(name)) reap_temporary(directory->descriptor(), name);
    struct stat status {};
    if (!parse_entry_name(name) || os::status_at(directory->descriptor(), name, status) != 0) continue;
    if (older_than && age_of(status.st_mtim.tv_sec) < older_than->count()) continue;
    remove_name(*directory, name, static_cast<std::uint64_t>(status.st_size), result);
  }
  return result;
}

Totals cache_totals(const Store& store) {
  Totals totals;
  totals.cap = store.cap();
  const auto directory = directory_of(store);
  if (!directory) return totals;
  for (const std::string& name : names_of(*directory)) {
    const auto entry = parse_entry_name(name);
    struct stat status {};
    if (!entry) {
      if (is_temporary_name(name)) {
        ++totals.temporaries;
      } else if (name != lock_file_name) {
        ++totals.others;
      }
    } else if (os::status_at(directory->descriptor(), name, status) == 0) {
      const auto bytes = static_cast<std::uint64_t>(status.st_size);
      ++totals.entries;
      totals.bytes += bytes;
      ++totals.entries_of_kind.at(index_of(entry->kind));
      totals.bytes_of_kind.at(index_of(entry->kind)) += bytes;
    }
  }
  return totals;
}

}  // namespace mgemm
