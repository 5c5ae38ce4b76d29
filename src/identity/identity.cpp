#include "identity/identity.hpp"

#include <array>

namespace mgemm {
namespace {

void add_number(Sha256& hash, std::uint64_t number) {
  std::array<std::byte, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes.at(i) = static_cast<std::byte>(number >> (8 * i));
  hash.update(bytes);
}

void add_framed(Sha256& hash, std::string_view text) {
  add_number(hash, text.size());
  hash.update(text);
}

}  // namespace

Identity& Identity::add(std::string_view tag, std::optional<std::string> value) {
  fields_.push_back({std::string(tag), std::move(value)});
  return *this;
}

Digest Identity::digest() const {
  Sha256 hash;
  add_framed(hash, domain_);
  add_number(hash, revision_);
  for (const Field& field : fields_) {
    add_framed(hash, field.tag);
    const std::byte present{static_cast<unsigned char>(field.value ? 1 : 0)};
    hash.update({&present, 1});
    add_framed(hash, field.value ? std::string_view(*field.value) : std::string_view());
  }
  return hash.finish();
}

}  // namespace mgemm
