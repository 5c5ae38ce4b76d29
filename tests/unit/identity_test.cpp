#include "identity/identity.hpp"

#include <map>

#include "support/random.hpp"
#include "support/test.hpp"

using namespace mgemm;
using namespace mgemm::test;

namespace {

/// Short strings over few characters, NUL among them, so that concatenations collide if anything can.
std::string adversarial(Random& random) {
  std::string text;
  for (std::int64_t i = uniform(random, 0, 3); i > 0; --i) text += "a\0=1"[uniform(random, 0, 3)];
  return text;
}

Identity random_identity(Random& random, std::string& fields) {
  Identity identity("test", 1);
  fields.clear();
  for (std::int64_t i = uniform(random, 0, 3); i > 0; --i) {
    const std::string tag = adversarial(random);
    const bool present = uniform(random, 0, 2) != 0;
    const std::string value = adversarial(random);
    identity.add(tag, present ? std::optional(value) : std::nullopt);
    // An unambiguous rendering by other means: lengths in decimal before every part.
    fields += std::to_string(tag.size()) + ":" + tag;
    fields += present ? std::to_string(value.size()) + ":" + value : std::string("-");
    fields += ";";
  }
  return identity;
}

}  // namespace

// Catches field lists that hash alike although they differ: by moving a character over a border, absent for empty,
// order.
TEST_CASE("different field lists have different digests") {
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  std::map<std::string, std::string> fields_by_digest;
  for (int round = 0; round < 20000; ++round) {
    std::string fields;
    const std::string digest = to_hex(random_identity(random, fields).digest());
    const auto [found, fresh] = fields_by_digest.emplace(digest, fields);
    CAPTURE(fields, found->second);
    REQUIRE(found->second == fields);
  }
  REQUIRE(fields_by_digest.size() > 1000);
}

// Catches a change of the framing, which would make every cache and every pinned identity worthless.
TEST_CASE("the framing is fixed") {
  Identity identity("d", 7);
  identity.add("t", "v").add("u", std::nullopt);
  const auto number = [](char low) { return std::string(1, low) + std::string(7, '\0'); };
  const std::string framed = number(1) + "d" + number(7) +                               // domain and revision
                             number(1) + "t" + std::string(1, '\1') + number(1) + "v" +  // present
                             number(1) + "u" + std::string(1, '\0') + number(0);         // absent
  REQUIRE(to_hex(identity.digest()) == to_hex(sha256(framed)));
}

TEST_CASE("domain and revision are part of the digest") {
  const auto digest = [](const char* domain, std::uint32_t revision) {
    return to_hex(Identity(domain, revision).add("t", "v").digest());
  };
  REQUIRE(digest("a", 1) != digest("b", 1));
  REQUIRE(digest("a", 1) != digest("a", 2));
}

// Catches a SHA-256 that is not SHA-256 (FIPS 180-2, appendix B.1).
TEST_CASE("sha256 of abc") {
  REQUIRE(to_hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
