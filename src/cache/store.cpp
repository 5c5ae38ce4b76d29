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
  std::set<std::pair<std::string, std::string>> refusals;  // directory and text
};
constinit PerProcess<Warned> warned;

void warn_once(const std::string& directory, const Refusal& refusal) {
  if (refusal.is_absent) return;
  const std::string text = to_string(refusal);
  {
    Warned& so_far = warned.get();
    const std::lock_guard lock(so_far.mutex);
    if (!so_far.refusals.emplace(directory, text).second) return;
  }
  log(MGEMM_LOG_WARN, "running without a cache: {}", text);
}

}  // namespace

struct Store::Attempt {
  DirectoryResult result;
  std::chrono::steady_clock::time_point time;

  bool is_still_right(std::chrono::milliseconds refusal_memory) const {
    if (result.directory) return is_still_private(*result.directory);
    const bool by_rule = result.refusal.error == 0 && !result.refusal.is_absent;
    return by_rule && std::chrono::steady_clock::now() - time < refusal_memory;
  }
};

Store::Store(std::string directory, StoreOptions options)
    : path_(std::move(directory)),
      cap_(options.cap ? *options.cap : cache_max()),
      creation_(options.creation),
      refusal_memory_(options.refusal_memory) {}

Store::~Store() = default;

Store::SharedAttempt Store::newest() const {
  const std::lock_guard lock(lock_);
  return newest_ == nullptr ? nullptr : *newest_;
}

Store::SharedAttempt Store::attempt() {
  if (SharedAttempt last = newest(); last != nullptr && last->is_still_right(refusal_memory_)) return last;
  SharedAttempt now(new Attempt{open_private_directory(path_, creation_), std::chrono::steady_clock::now()});
  auto box = std::make_unique<const SharedAttempt>(now);
  {
    const std::lock_guard lock(lock_);
    newest_.swap(box);  // the old one goes after the lock
  }
  if (!now->result.directory) warn_once(path_, now->result.refusal);
  return now;
}

std::shared_ptr<const PrivateDirectory> Store::open() noexcept {
  if (path_.empty()) return nullptr;
  try {
    SharedAttempt now = attempt();
    const auto& directory = now->result.directory;
    return directory ? std::shared_ptr<const PrivateDirectory>(std::move(now), &*directory) : nullptr;
  } catch (...) {
    return nullptr;  // out of memory
  }
}

std::string Store::refusal() {
  if (path_.empty()) return "the cache is off";
  const SharedAttempt now = attempt();
  return now->result.directory ? "" : to_string(now->result.refusal);
}

EntryFile Store::find(const Digest& key, Kind kind) noexcept {
  try {
    const auto directory = open();
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

void Store::note_failure(int error, const std::string& reason) noexcept {
  count(live_cache_counters().store_failures.at(static_cast<size_t>(store_failure_of(error))));
  try {
    const int level = has_failed_.exchange(true) ? MGEMM_LOG_INFO : MGEMM_LOG_WARN;
    log(level, "the cache in {} could not keep an entry, going on without: {}", path_,
        reason.empty() ? os::message(error) : reason);
  } catch (...) {
    return;  // the message is lost, nothing else
  }
}

int Store::publish_and_evict(const std::string& name, const std::string& bytes) {
  int error = ESTALE;
  constexpr int attempts = 2;
  for (int attempt = 0; attempt < attempts && error != 0; ++attempt) {
    const auto directory = open();
    if (directory == nullptr) return error;
    // What dead writers have left may be what fills the disk.
    if (attempt > 0) evict(*directory, cap_ - bytes.size());
    error = publish(directory->descriptor(), name, bytes);
    if (error == 0) evict(*directory, cap_, name);
  }
  return error;
}

bool Store::keep(const Entry& entry) noexcept {
  try {
    const auto directory = open();
    if (directory == nullptr) return false;
    const std::string bytes = encode(entry);
    // What would be rejected when read, or evicted at once, together with all else, is not worth writing.
    Reject reject = Reject::none;
    if (bytes.size() > cap_) {
      evict(*directory, cap_);
      note_failure(EFBIG, fmt::format("it has {} bytes, which is larger than the cap of {} (MAMBA_GEMM_CACHE_MAX)",
                                      bytes.size(), cap_));
      return false;
    }
    if (!decode(bytes, reject)) {
      note_failure(EFBIG, "it would not be used: " + std::string(explain(reject)));
      return false;
    }
    const int error = publish_and_evict(entry_name(entry.key, entry.kind), bytes);
    if (error != 0) {
      note_failure(error, error == EFBIG ? "the process's or the file system's limit on file sizes" : "");
      return false;
    }
    count(live_cache_counters().stores);
    count(live_cache_counters().bytes_written, bytes.size());
    return true;
  } catch (...) {
    note_failure(ENOMEM, "");
    return false;
  }
}

bool Store::remove(const Digest& key, Kind kind) noexcept {
  try {
    const auto directory = open();
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
