#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.hpp"

namespace mgemm {

/// A named list of fields and its digest. The digest frames every field: domain and schema revision first, then for
/// each field the length of its tag (u64, little-endian), the tag, a presence byte, the length of its value and the
/// value. So absent differs from empty, and no two field lists have the same bytes.
class Identity {
 public:
  struct Field {
    std::string tag;
    std::optional<std::string> value;
  };

  Identity(std::string_view domain, std::uint32_t revision) : domain_(domain), revision_(revision) {}

  Identity& add(std::string_view tag, std::optional<std::string> value);
  Identity& add(std::string_view tag, const Digest& digest) { return add(tag, to_hex(digest)); }

  const std::vector<Field>& fields() const { return fields_; }
  Digest digest() const;

 private:
  std::string domain_;
  std::uint32_t revision_;
  std::vector<Field> fields_;
};

}  // namespace mgemm
