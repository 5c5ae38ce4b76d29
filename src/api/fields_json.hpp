#pragma once
#include <span>

#include "base/json_writer.hpp"
#include "identity/identity.hpp"

namespace mgemm {

/// [{"tag": "...", "value": "..." or null}, ...]: a list, because a tag may repeat.
inline void write_fields(JsonWriter& json, std::span<const Identity::Field> fields) {
  json.array([&] {
    for (const Identity::Field& field : fields) {
      json.object([&] {
        json.member("tag", field.tag);
        json.member("value", field.value);
      });
    }
  });
}

}  // namespace mgemm
