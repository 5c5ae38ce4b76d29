#include "cache/store.hpp"

#include <cerrno>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/log.hpp"
#include "base/per_process.hpp"
#include "cache/counters.hpp"
#include "cache/eviction.hpp"
#include "cache/location.hpp"

namespace mgemm {
namespace {

struct Shared {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Store>, std::less<>> stores;
};
constinit PerProcess<Shared> shared;

struct Warned {
  std::mutex mutex;
  std::set<std::string, std::less<>> directories;
};
constinit PerProcess<Warned> warned;

void warn_once(const std::string& directory, const Refusal& refusal) {
  if (refusal.is_absent) return;
  {
    Warned& so_far = warned.get();
    const std::lock_guard lock(so_far.mutex);
    if (!so_far.directories.insert(directory).second) return;
  }
  log(MGEMM_LOG_WARN, "running without a cache: {}", to_string(refusal));
}

}  // namespace

struct Store::Attempt {
  DirectoryResult result;
  Attempt* older = nullptr;
};

Store::Store(std::string directory, StoreOptions options)
    : path_(std::move(directory)), cap_(options.cap ? *options.cap : cache_max()), creation_(options.creation) {}

Store::~Store() {
  const Attempt* attempt = newest_.load(std::memory_order_acquire);
  while (attempt != nullptr) {
    const std::unique_ptr<const Attempt> last(attempt);
    attempt = last->older;
  }
}

const Store::Attempt& Store::attempt() {
  for (;;) {
    Attempt* newest = newest_.load(std::memory_order_acquire);
    if (newest != nullptr && (!newest->result.directory || is_still_private(*newest->result.directory))) return *newest;
    auto fresh = std::make_unique<Attempt>();
    fresh->result = open_private_directory(path_, creation_);
    fresh->older = newest;
    if (!newest_.compare_exchange_strong(newest, fresh.get(), std::memory_order_acq_rel)) continue;
    const Attempt& made = *fresh.release();
    if (!made.result.directory) warn_once(path_, made.result.refusal);
    return made;
  }
}

const PrivateDirectory* Store::open() noexcept {
  if (path_.empty()) return nullptr;
  try {
    const Attempt& now = attempt();
    return now.result.directory ? &*now.result.directory : nullptr;
  } catch (...) {
    return nullptr;  // out of memory
  }
}

std::string Store::refusal() {
  if (path_.empty()) return "the cache is off";
  const Attempt& now = attempt();
  return now.result.directory ? "" : to_string(now.result.refusal);
}

EntryFile Store::find(const Digest& key, Kind kind) noexcept {
  try {
    const PrivateDirectory* const directory = open();
    return directory == nullptr ? EntryFile{} : read_entry_file(directory->descriptor(), {key, kind});
  } catch (...) {
    EntryFile file;  // out of memory
    file.reject = Reject::unreadable;
    file.error = ENOMEM;
    return file;
  }
}

std::optional<Entry> Store::load(const Digest& key, Kind kind) noexcept {
  auto& counters = live_cache_counters();
  EntryFile file = find(key, kind);
  if (!file.entry) {
    count(counters.misses);
    if (file.reject != Reject::none) {
      count(counters.rejects.at(static_cast<size_t>(file.reject)));
      try {
        log(MGEMM_LOG_INFO, "entry {} of the cache in {} is not used: {}{}", entry_name(key, kind), path_,
            explain(file.reject), file.error == 0 ? "" : ": " + os::message(file.error));
      } catch (...) {
        return std::nullopt;  // the message is lost, nothing else
      }
    }
    return std::nullopt;
  }
  count(counters.hits.at(index_of(kind)));
  count(counters.bytes_read, file.bytes);
  if (is_touch_due(file.used_at, std::time(nullptr))) os::touch(file.descriptor.get());
  return std::move(file.entry);
}

void Store::note_failure(int error) noexcept {
  count(live_cache_counters().store_failures.at(static_cast<size_t>(store_failure_of(error))));
  try {
    const int level = has_failed_.exchange(true) ? MGEMM_LOG_INFO : MGEMM_LOG_WARN;
    log(level, "the cache in {} could not keep an entry, going on without: {}", path_, os::message(error));
  } catch (...) {
    return;  // the message is lost, nothing else
  }
}

bool Store::keep(const Entry& entry) noexcept {
  try {
    const PrivateDirectory* const directory = open();
    if (directory == nullptr) return false;
    const std::string bytes = encode(entry);
    // What would be rejected when read, or evicted at once, together with all else, is not worth writing.
    Reject reject = Reject::none;
    int error = bytes.size() > cap_ || !decode(bytes, reject) ? EFBIG : 0;
    if (error == 0) error = publish(directory->descriptor(), entry_name(entry.key, entry.kind), bytes);
    if (error != 0) {
      note_failure(error);
      return false;
    }
    count(live_cache_counters().stores);
    count(live_cache_counters().bytes_written, bytes.size());
    evict(*directory, cap_);
    return true;
  } catch (...) {
    note_failure(ENOMEM);
    return false;
  }
}

bool Store::remove(const Digest& key, Kind kind) noexcept {
  try {
    const PrivateDirectory* const directory = open();
    return directory != nullptr && os::unlink_at(directory->descriptor(), entry_name(key, kind)) == 0;
  } catch (...) {
    return false;
  }
}

int Store::remove(const Digest& key) noexcept {
  int removed = 0;
  for (const Kind kind : {Kind::ptx, Kind::machine_code, Kind::memo, Kind::verdict}) {
    removed += remove(key, kind) ? 1 : 0;
  }
  return removed;
}

Store& store_for(const std::string& directory) {
  Shared& all = shared.get();
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<Store>& store = all.stores[directory];
  if (store == nullptr) store = std::make_unique<Store>(directory);
  return *store;
}

}  // namespace mgemm
