// What the files in a cache's directory are called.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cache/entry.hpp"

namespace mgemm {

constexpr std::string_view lock_file_name = "lock";

struct EntryName {
  Digest key;
  Kind kind = Kind::ptx;
};

/// 64 hexadecimal digits, a dot and the kind.
std::string entry_name(const Digest& key, Kind kind);
std::optional<EntryName> parse_entry_name(std::string_view name);

/// 64 lower-case hexadecimal digits.
std::optional<Digest> digest_from_hex(std::string_view text);

/// A name that no other writer uses, of this process or another: "mamba-gemm-tmp-PROCESS-NUMBER-TIME", the last in
/// hexadecimal.
std::string fresh_temporary_name();
/// Whether it is exactly of that form.
bool is_temporary_name(std::string_view name);

}  // namespace mgemm
