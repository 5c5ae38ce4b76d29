#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fork_safe_lock.hpp"
#include "cache/directory.hpp"
#include "cache/entry.hpp"
#include "cache/entry_file.hpp"

namespace mgemm {

struct StoreOptions {
  std::optional<std::uint64_t> cap{};  // bytes; by default what MAMBA_GEMM_CACHE_MAX says
  Creation creation = Creation::allowed;
  std::chrono::milliseconds refusal_memory = std::chrono::seconds(5);
};

/// Entries in one private directory, a file each. Any number of threads and processes at once. What goes wrong is
/// counted and never thrown: without a usable directory nothing is found and nothing kept, with one warning for each
/// reason. A directory that breaks a rule is looked at again after `refusal_memory`, when somebody may have mended it;
/// one that could not be opened for want of something, at every use.
class Store {
 public:
  /// `directory`: an absolute path, or "" for a store that is off. It is opened, and made if need be, on first use.
  explicit Store(std::string directory, StoreOptions options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;

  const std::string& directory() const noexcept { return path_; }
  std::uint64_t cap() const noexcept { return cap_; }

  /// The directory, opened; nullptr if the store is off or the directory is refused. One that was deleted meanwhile is
  /// made again, and the old one closed when the last who uses it is done.
  std::shared_ptr<const PrivateDirectory> open() noexcept;
  /// Why open() gives nothing, "" if it gives something.
  std::string refusal();

  /// A sound entry; counts a hit or a miss, notes the use. Anything but a sound entry is a miss.
  std::optional<Entry> load(const Digest& key, Kind kind) noexcept;
  /// The same without a trace: neither counted nor noted, and a rejected file tells why.
  EntryFile find(const Digest& key, Kind kind) noexcept;
  /// Puts an entry in its place, whatever is there, then evicts down to the cap. Whether it is kept now.
  bool keep(const Entry& entry) noexcept;
  /// Whether there was one.
  bool remove(const Digest& key, Kind kind) noexcept;
  /// Of every kind. How many there were.
  int remove(const Digest& key) noexcept;

 private:
  struct Attempt;
  using SharedAttempt = std::shared_ptr<const Attempt>;

  SharedAttempt newest() const;
  SharedAttempt attempt();
  int publish_and_evict(const std::string& name, const std::string& bytes);
  void note_failure(int error, const std::string& reason) noexcept;

  std::string path_;
  std::uint64_t cap_;
  Creation creation_;
  std::chrono::milliseconds refusal_memory_;
  // What opening gave last. Behind one more pointer, because a fork may come in the middle of a change: the child then
  // has the old or the new one, and never half of both.
  mutable ForkSafeLock lock_;
  std::unique_ptr<const SharedAttempt> newest_;
  std::atomic<bool> has_failed_{false};
};

/// The store of a directory that everything in this process shares; never destroyed.
Store& store_for(const std::string& directory);

}  // namespace mgemm
