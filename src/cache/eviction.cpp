#include "cache/eviction.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cache/counters.hpp"
#include "cache/entry_file.hpp"
#include "cache/names.hpp"

namespace mgemm {
namespace {

struct Candidate {
  struct timespec used_at {};
  std::uint64_t bytes = 0;
  std::string name;
};

bool is_older(const Candidate& a, const Candidate& b) {
  return std::pair(a.used_at.tv_sec, a.used_at.tv_nsec) < std::pair(b.used_at.tv_sec, b.used_at.tv_nsec);
}

}  // namespace

bool is_touch_due(std::int64_t used_at, std::int64_t now) {
  return used_at < now - recency_seconds || used_at > now + recency_seconds;
}

int evict(const PrivateDirectory& directory, std::uint64_t cap, std::string_view spared) {
  std::vector<std::string> names;
  const int error = os::names_in(directory.descriptor(), names);
  if (error != 0) return error;
  std::vector<Candidate> entries;
  std::uint64_t total = 0;
  const std::int64_t now = std::time(nullptr);
  for (std::string& name : names) {
    if (is_temporary_name(name)) {
      if (reap_temporary(directory.descriptor(), name)) count(live_cache_counters().reaped);
      continue;
    }
    if (!parse_entry_name(name)) continue;
    struct stat status {};
    if (os::status_at(directory.descriptor(), name, status) != 0) continue;
    Candidate entry{status.st_mtim, static_cast<std::uint64_t>(status.st_size), std::move(name)};
    // A time that has not come yet says nothing, and would keep the entry until it comes.
    if (entry.used_at.tv_sec > now + recency_seconds) entry.used_at = {};
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (total <= cap) return 0;
  std::ranges::sort(entries, is_older);
  for (const Candidate& entry : entries) {
    if (total <= cap) break;
    if (entry.name == spared) continue;
    const int removal = os::unlink_at(directory.descriptor(), entry.name);
    if (removal == 0) count(live_cache_counters().evictions);
    if (removal == 0 || removal == ENOENT) total -= entry.bytes;
  }
  return 0;
}

}  // namespace mgemm
