#include "base/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/error.hpp"
#include "base/lazy.hpp"

namespace mgemm {
namespace {

constinit Lazy<EVP_MD*> algorithm;

// OpenSSL would otherwise register an exit handler, which may run after the library's user has gone.
void initialise_once() {
  static const bool done = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) == 1;
  if (!done) fail(MGEMM_INTERNAL, "OpenSSL could not be initialised");
}

/// Looked up once: every look-up takes locks of OpenSSL, which the child of a fork may find locked for ever.
const EVP_MD* sha256_algorithm() {
  return algorithm.get([] {
    EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    if (found == nullptr) fail(MGEMM_INTERNAL, "OpenSSL has no SHA-256");
    return found;
  });
}

EVP_MD_CTX* as_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

std::string to_hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.bytes.size());
  for (const std::uint8_t byte : digest.bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

Sha256::Sha256() : context_(nullptr) {
  initialise_once();
  const EVP_MD* const type = sha256_algorithm();
  context_ = EVP_MD_CTX_new();
  if (context_ == nullptr || EVP_DigestInit_ex(as_context(context_), type, nullptr) != 1) {
    EVP_MD_CTX_free(as_context(context_));
    fail(MGEMM_INTERNAL, "SHA-256 could not be started");
  }
}

Sha256::~Sha256() { EVP_MD_CTX_free(as_context(context_)); }

void Sha256::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(as_context(context_), bytes.data(), bytes.size()) != 1) fail(MGEMM_INTERNAL, "SHA-256 failed");
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

Digest Sha256::finish() {
  Digest digest;
  unsigned length = 0;
  if (EVP_DigestFinal_ex(as_context(context_), digest.bytes.data(), &length) != 1 || length != digest.bytes.size()) {
    fail(MGEMM_INTERNAL, "SHA-256 could not be finished");
  }
  return digest;
}

Digest sha256(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish();
}

}  // namespace mgemm
