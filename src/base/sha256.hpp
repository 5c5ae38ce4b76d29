#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mgemm {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);

/// Incremental SHA-256 (OpenSSL EVP). Throws Error on failure.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256(Sha256&&) = delete;
  Sha256& operator=(Sha256&&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  Digest finish();

 private:
  void* context_;
};

Digest sha256(std::string_view text);

}  // namespace mgemm
