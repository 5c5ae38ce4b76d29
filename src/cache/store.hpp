#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "cache/directory.hpp"
#include "cache/entry.hpp"
#include "cache/entry_file.hpp"

namespace mgemm {

struct StoreOptions {
  std::optional<std::uint64_t> cap{};  // bytes; by default what MAMBA_GEMM_CACHE_MAX says
  Creation creation = Creation::allowed;
};

/// Entries in one private directory, a file each. Any number of threads and processes at once. What goes wrong is
/// counted and never thrown: without a usable directory nothing is found and nothing kept, with one warning.
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

  /// The directory, opened; nullptr if the store is off or the directory is refused. Valid as long as the store is. One
  /// that was deleted meanwhile is made again.
  const PrivateDirectory* open() noexcept;
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

  const Attempt& attempt();
  void note_failure(int error) noexcept;

  std::string path_;
  std::uint64_t cap_;
  Creation creation_;
  // A list of what opening gave, newest first. Older ones are kept: another thread may be using their descriptors.
  std::atomic<Attempt*> newest_{nullptr};
  std::atomic<bool> has_failed_{false};
};

/// The store of a directory that everything in this process shares; never destroyed.
Store& store_for(const std::string& directory);

}  // namespace mgemm
