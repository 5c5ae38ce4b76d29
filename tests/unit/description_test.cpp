// The identities that descriptions show.
#include <string>

#include <nlohmann/json.hpp>

#include "mamba_gemm/mamba_gemm.hpp"
#include "support/fake_board.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm::test;
using nlohmann::json;

json value_of(const json& identity, const std::string& tag) {
  json found;
  for (const json& field : identity["fields"]) {
    if (field["tag"] != tag) continue;
    CHECK(found.is_null());  // each only once
    found = field["value"];
  }
  return found;
}

mgemm_problem problem() { return mamba_gemm::parse_problem("nn:f32:20x30x40"); }

}  // namespace

// Catches identities that are left out or are not those that the route is made of, and an artifact of other parts.
TEST_CASE("a description on a GPU has every identity that its route names") {
  const FakeBoard board;
  const mamba_gemm::Context gpu = FakeBoard::context();
  const mamba_gemm::Plan plan(gpu, problem());
  const json description = json::parse(plan.describe_json());
  const json& identities = description["identities"];
  CAPTURE(identities.dump());
  const json& route = identities["route"];
  CHECK(description["identity"] == route["sha256"]);
  CHECK(plan.describe().identity == route["sha256"].get<std::string>());
  for (const char* const part : {"source", "compiler", "artifact", "device", "policy", "contracts", "tuning"}) {
    CAPTURE(part);
    REQUIRE(identities[part]["sha256"].is_string());
    CHECK(identities[part]["sha256"].get<std::string>().size() == 64);
    CHECK(identities[part]["sha256"] == value_of(route, part));
    CHECK_FALSE(identities[part]["fields"].empty());
  }
  CHECK(value_of(identities["artifact"], "source") == identities["source"]["sha256"]);
  CHECK(value_of(identities["artifact"], "compiler") == identities["compiler"]["sha256"]);
  CHECK(value_of(identities["artifact"], "output").is_string());
  CHECK(value_of(identities["device"], "name") == "NVIDIA H200");
  CHECK(value_of(identities["compiler"], "nvrtc") == "13.0");
  CHECK(value_of(route, "problem") == "nn:f32:20x30x40");
  CHECK(description["qualification"]["by"] == "probes");
  CHECK(description["qualification"]["microseconds"] > 0);
  CHECK(description["profile"] == 90);
}

// Catches identities of code where none is involved.
TEST_CASE("a description on the reference device has no identities of code") {
  const mamba_gemm::Context reference = mamba_gemm::Context::reference(1);
  const json description = json::parse(mamba_gemm::Plan(reference, problem()).describe_json());
  CHECK_FALSE(description.contains("qualification"));
  const json& identities = description["identities"];
  CAPTURE(identities.dump());
  for (const char* const part : {"source", "compiler", "artifact"}) {
    CAPTURE(part);
    CHECK_FALSE(identities.contains(part));
    CHECK(value_of(identities["route"], part).is_null());
  }
  for (const char* const part : {"device", "policy", "contracts", "tuning"}) {
    CAPTURE(part);
    CHECK(identities[part]["sha256"] == value_of(identities["route"], part));
  }
}
