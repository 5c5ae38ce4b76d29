// One entry's file: read with every check, and put in its place whole.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cache/entry.hpp"
#include "cache/names.hpp"
#include "cache/os.hpp"

namespace mgemm {

/// What is under a name. Without an entry and with Reject::none there is nothing.
struct EntryFile {
  std::optional<Entry> entry;
  Reject reject = Reject::none;
  int error = 0;             // with Reject::unreadable
  std::uint64_t bytes = 0;   // the size of the file
  std::int64_t used_at = 0;  // when it was last used, seconds since 1970, to an hour
  Descriptor descriptor;     // of a file that held a sound entry
};

/// Never throws but for want of memory.
EntryFile read_entry_file(int directory, const EntryName& name);

/// Writes a temporary and renames it to `name`, over whatever is there. An errno, 0 if `name` now has these bytes.
int publish(int directory, const std::string& name, std::string_view bytes);

/// Removes a temporary, by its name one of ours, if it is a private file of ours and its writer is dead. Whether it
/// did.
bool reap_temporary(int directory, const std::string& name);

}  // namespace mgemm
