// Who else can write to a file, or replace what is in a folder.
#pragma once
#include <optional>
#include <string>

#include "cache/os.hpp"

namespace mgemm {

/// Why a file or folder is in others' hands.
struct Distrust {
  std::string rule;    // "" if it is not
  std::string remedy;  // a command that mends it, "" if none is known
  int error = 0;       // of the system, if it could not be found out
};

/// Root and we may own it (inside a user namespace also the overflow user, who stands for root outside), and
/// `also_trusted`. Everyone may write only to a folder that is sticky; a group too, or to what is ours with our own
/// group, if no access control list turns that right into somebody else's. `file` may be an O_PATH descriptor.
Distrust distrust_of(int file, const struct stat& status, const std::string& path,
                     std::optional<uid_t> also_trusted = {});

}  // namespace mgemm
