// Compiled modules through the cache, with a compiler that counts.
#include "compile/artifact.hpp"

#include "fake_cuda/fake_nvrtc.hpp"
#include "support/cache.hpp"
#include "support/raises.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr std::string_view some_module = "f32_nn_single_a4";

}  // namespace

// Catches a cache that is not asked, an identity that depends on it, and an entry that does not say where it came from.
TEST_CASE("artifact: compiled once a directory, module and target", "[cache]") {
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  fake::Nvrtc nvrtc;
  const Artifact cold = artifact_of(some_module, 9, 0, 0, cache);
  CHECK_FALSE(cold.from_cache);
  CHECK(nvrtc.compiles().size() == 1);
  const Artifact warm = artifact_of(some_module, 9, 0, 0, cache);
  CHECK(warm.from_cache);
  CHECK(warm.ptx == cold.ptx);
  CHECK(warm.identity == cold.identity);
  CHECK(nvrtc.compiles().size() == 1);
  const Artifact uncached = artifact_of(some_module, 9, 0, 0, "");
  CHECK_FALSE(uncached.from_cache);
  CHECK(uncached.identity == cold.identity);
  CHECK_FALSE(artifact_of(some_module, 8, 0, 0, cache).from_cache);
  CHECK(nvrtc.compiles().size() == 3);
  // Moved to another folder it still serves.
  std::filesystem::rename(cache, folder.path() / "moved");
  CHECK(artifact_of(some_module, 9, 0, 0, (folder.path() / "moved").string()).from_cache);

  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path() / "moved")) {
    Reject reject = Reject::none;
    const auto entry = decode(read_file(file.path()), reject);
    if (!entry) continue;
    ++files;
    const auto has = [&](std::string_view tag) {
      return std::ranges::any_of(entry->fields, [tag](const Identity::Field& field) { return field.tag == tag; });
    };
    for (const char* tag : {"source", "compiler", "module", "embedded", "nvrtc", "output", "option"}) CHECK(has(tag));
    CHECK_FALSE(has("text"));
  }
  CHECK(files == 2);
}

// Catches a failed compile that is remembered.
TEST_CASE("artifact: a failure is not kept", "[cache]") {
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  fake::Nvrtc nvrtc;
  nvrtc.set_outcome(nvrtc_abi::Result::Compilation, "no");
  CHECK(error_of([&] { artifact_of(some_module, 9, 0, 0, cache); }).status() == MGEMM_COMPILE);
  nvrtc.set_outcome(nvrtc_abi::Result::Success, "");
  CHECK_FALSE(artifact_of(some_module, 9, 0, 0, cache).from_cache);
  CHECK(artifact_of(some_module, 9, 0, 0, cache).from_cache);
}
