// Compiled modules through the cache, with a compiler that counts and with this machine's.
#include "compile/artifact.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "catalogue/embedded.hpp"
#include "compile/module_text.hpp"
#include "compile/nvrtc_choice.hpp"
#include "compile/nvrtc_load.hpp"
#include "compile/nvrtc_table.hpp"
#include "compile/source_identity.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "support/cache.hpp"
#include "support/child.hpp"
#include "support/environment.hpp"
#include "support/raises.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
namespace fs = std::filesystem;

ModuleRequest request_in(const fs::path& cache, int major = 9) {
  return {"f32_nn_single_a4_small", major, 0, 0, cache.string()};
}

Digest digest_of(const Artifact& artifact) { return artifact.identity.artifact.digest(); }

std::optional<std::string> value_of(const std::vector<Identity::Field>& fields, std::string_view tag) {
  const auto found = std::ranges::find(fields, tag, &Identity::Field::tag);
  return found == fields.end() ? std::nullopt : found->value;
}

/// Sound entries of a kind in a folder.
std::vector<Entry> entries_in(const fs::path& folder, Kind kind) {
  std::vector<Entry> found;
  for (const auto& file : fs::directory_iterator(folder)) {
    Reject reject = Reject::none;
    auto entry = decode(read_file(file.path()), reject);
    if (entry && entry->kind == kind) found.push_back(*std::move(entry));
  }
  return found;
}

/// NVRTC's two files, small ones, old enough for a memo to be kept.
struct NvrtcOnDisk {
  TempFolder folder;
  fs::path library = folder.path() / "libnvrtc.so.13";
  fs::path builtins = folder.path() / "libnvrtc-builtins.so.13.0";
  Variable variable{"MAMBA_GEMM_NVRTC", library.string()};

  NvrtcOnDisk() {
    write_bytes(library, "library");
    write_bytes(builtins, "builtins");
    settle();
  }
  /// A file's change time is the clock's, so there is nothing but to wait.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }
};

}  // namespace

// Catches a cache that is not asked, an identity that depends on it, and an entry that does not say where it came from.
TEST_CASE("artifact: compiled once a directory, module and target", "[cache]") {
  const TempFolder folder;
  const fs::path cache = folder.path() / "cache";
  fake::Nvrtc nvrtc;
  const Artifact cold = ptx_of(request_in(cache));
  CHECK_FALSE(cold.from_cache);
  CHECK(nvrtc.compiles().size() == 1);
  const Artifact warm = ptx_of(request_in(cache));
  CHECK(warm.from_cache);
  CHECK(warm.code == cold.code);
  CHECK(digest_of(warm) == digest_of(cold));
  CHECK(nvrtc.compiles().size() == 1);
  ModuleRequest uncached = request_in(cache);
  uncached.cache_directory.clear();
  CHECK_FALSE(ptx_of(uncached).from_cache);
  CHECK(digest_of(ptx_of(uncached)) == digest_of(cold));
  CHECK_FALSE(ptx_of(request_in(cache, 8)).from_cache);
  CHECK(nvrtc.compiles().size() == 4);
  // Moved to another folder it still serves.
  fs::rename(cache, folder.path() / "moved");
  CHECK(ptx_of(request_in(folder.path() / "moved")).from_cache);

  const std::vector<Entry> entries = entries_in(folder.path() / "moved", Kind::ptx);
  REQUIRE(entries.size() == 2);
  for (const Entry& entry : entries) {
    for (const char* tag : {"source", "compiler", "module", "text", "include f32_tile.cuh", "nvrtc", "libnvrtc",
                            "builtins", "target", "output", "option"}) {
      INFO(tag);
      CHECK(value_of(entry.fields, tag).value_or("").size() > 1);
    }
    for (const Identity::Field& field : entry.fields) CHECK(field.value.value_or("").find('/') == std::string::npos);
  }
}

// Catches a failed compile that is remembered.
TEST_CASE("artifact: a failure is not kept", "[cache]") {
  const TempFolder folder;
  fake::Nvrtc nvrtc;
  nvrtc.set_outcome(nvrtc_abi::Result::Compilation, "no");
  CHECK(error_of([&] { ptx_of(request_in(folder.path() / "cache")); }).status() == MGEMM_COMPILE);
  nvrtc.set_outcome(nvrtc_abi::Result::Success, "");
  CHECK_FALSE(ptx_of(request_in(folder.path() / "cache")).from_cache);
  CHECK(ptx_of(request_in(folder.path() / "cache")).from_cache);
}

// Catches flags that change the code and not its identity.
TEST_CASE("artifact: NVRTC_APPEND_FLAGS makes another one", "[cache]") {
  const TempFolder folder;
  const fs::path cache = folder.path() / "cache";
  fake::Nvrtc nvrtc;
  const Artifact plain = ptx_of(request_in(cache));
  {
    const Variable flags("NVRTC_APPEND_FLAGS", "-lineinfo");
    const Artifact other = ptx_of(request_in(cache));
    CHECK_FALSE(other.from_cache);
    CHECK_FALSE(digest_of(other) == digest_of(plain));
    CHECK(ptx_of(request_in(cache)).from_cache);
  }
  CHECK(ptx_of(request_in(cache)).from_cache);
  CHECK(nvrtc.compiles().size() == 2);
}

// Catches one thread's compile that another does not get, or gets of another module; run under the thread sanitizer
// too.
TEST_CASE("artifact: 32 threads on the same and different modules", "[cache]") {
  const TempFolder folder;
  const fs::path cache = folder.path() / "cache";
  const std::array<const char*, 4> modules{"f32_nn_single_a4_small", "f32_nn_single_a16_small",
                                           "f32_tn_single_a4_small", "f32_nt_sliced_a4_small"};
  fake::Nvrtc nvrtc;
  std::vector<std::string> codes(32);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      threads.emplace_back([&, i] {
        ModuleRequest request = request_in(cache);
        request.module = modules.at(i % modules.size());
        codes[i] = ptx_of(request).code;
      });
    }
  }
  CHECK(nvrtc.compiles().size() == modules.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CHECK(codes[i] == codes[i % modules.size()]);
    for (const char* module : modules) {  // symbols begin with their module's name
      CHECK((codes[i].find(module) != std::string::npos) == (module == modules.at(i % modules.size())));
    }
  }
}

// Catches an NVRTC that is read although a memo of it is there, or not read although it is another: a file of the same
// size and times included.
TEST_CASE("nvrtc choice: hashed once, then known by a memo until a file changes", "[cache]") {
  const NvrtcOnDisk nvrtc;
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  const std::uint64_t loads = nvrtc_loads();
  const NvrtcContent first = choose_nvrtc(store_for(cache), 0).content.value();
  CHECK(first.library == sha256("library"));
  CHECK(first.builtins == sha256("builtins"));
  CHECK(entries_in(cache, Kind::memo).size() == 1);

  const auto hashes_in_new_process = [&](const NvrtcContent& expected) {
    return in_fork([&] {
      const std::uint64_t before = nvrtc_hashes();
      if (!(choose_nvrtc(store_for(cache), 0).content == expected)) return 50;
      return static_cast<int>(nvrtc_hashes() - before);
    });
  };
  CHECK(hashes_in_new_process(first) == 0);
  {
    const std::uint64_t before = nvrtc_hashes();
    CHECK(choose_nvrtc(store_for(cache), 0).content == first);
    CHECK(nvrtc_hashes() == before);
  }

  const bool of_library = GENERATE(true, false);
  const fs::path changed = of_library ? nvrtc.library : nvrtc.builtins;
  const auto time = fs::last_write_time(changed);
  write_bytes(changed, of_library ? "librarz" : "builtinz");
  fs::last_write_time(changed, time);
  NvrtcContent second = first;
  (of_library ? second.library : second.builtins) = sha256(of_library ? "librarz" : "builtinz");
  // In this process, which knows the old one, and in a new one. Too young to be remembered by either.
  CHECK(choose_nvrtc(store_for(cache), 0).content == second);
  CHECK(hashes_in_new_process(second) == 2);
  CHECK(entries_in(cache, Kind::memo).size() == 1);
  NvrtcOnDisk::settle();
  CHECK(hashes_in_new_process(second) == 2);
  CHECK(hashes_in_new_process(second) == 0);
  CHECK(entries_in(cache, Kind::memo).size() == 2);
  CHECK(nvrtc_loads() == loads);
}

// Catches a memo that is believed although it is one of other files.
TEST_CASE("nvrtc choice: a memo whose content is not one is passed over", "[cache]") {
  const NvrtcOnDisk nvrtc;
  const TempFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  const NvrtcContent content = choose_nvrtc(store_for(cache), 0).content.value();
  std::vector<Entry> memos = entries_in(cache, Kind::memo);
  REQUIRE(memos.size() == 1);
  memos[0].payload = "no memo";
  REQUIRE(store_for(cache).keep(memos[0]));
  CHECK(in_fork([&] { return choose_nvrtc(store_for(cache), 0).content == content ? 7 : 8; }) == 7);
}

// Catches an NVRTC that is not there, or cannot be read, reported as anything else.
TEST_CASE("nvrtc choice: without an NVRTC it is an error", "[cache]") {
  const TempFolder folder;
  const Variable variable("MAMBA_GEMM_NVRTC", (folder.path() / "none").string());
  CHECK(in_fork([&] {
          const Error error = error_of([&] { choose_nvrtc(store_for(folder.path() / "cache"), 0); });
          return error.status() == MGEMM_NO_COMPILER ? 7 : 8;
        }) == 7);
}

// Catches a warm start that loads NVRTC or reads it, with the real one; and PTX that another folder or process changes.
TEST_CASE("artifact: a warm start neither loads nor hashes this machine's NVRTC", "[cache]") {
  if (!nvrtc_by_name(process_environment(), 0)) MGEMM_SKIP("no NVRTC on this machine");
  const TempFolder folder;
  const auto start = [&](const std::string& name) {
    return in_fork([&] {
      const std::uint64_t loads = nvrtc_loads();
      const std::uint64_t hashes = nvrtc_hashes();
      const Artifact artifact = ptx_of(request_in(folder.path() / name));
      if (artifact.code.find(".version") == std::string::npos || artifact.code.ends_with('\0')) return 40;
      const std::string digest = to_hex(digest_of(artifact));
      const fs::path seen = folder.path() / "digest";
      if (fs::exists(seen) && read_file(seen) != digest) return 41;
      write_bytes(seen, digest);
      return static_cast<int>(10 * (nvrtc_loads() - loads) + (nvrtc_hashes() - hashes));
    });
  };
  CHECK(start("cache") == 12);
  CHECK(start("cache") == 0);
  fs::rename(folder.path() / "cache", folder.path() / "moved");
  CHECK(start("moved") == 0);
  CHECK(start("cache") == 12);
}

// Catches code of an NVRTC that is no longer the one on disk kept under that one's name, or an error where it can still
// compile.
TEST_CASE("artifact: an NVRTC replaced while in use compiles, and nothing is kept", "[cache]") {
  const TempFolder files;
  const std::string library = (files.path() / "libnvrtc.so.13").string();
  const std::string builtins = (files.path() / "libnvrtc-builtins.so.13.0").string();
  write_bytes(library, "library");
  write_bytes(builtins, "builtins");
  const TempFolder folder;
  const fs::path cache = folder.path() / "cache";
  fake::Nvrtc nvrtc;
  nvrtc.set_files(nvrtc_files(library, builtins));
  bool is_content_known = true;
  SECTION("its content was known before") {
    choose_nvrtc(store_for(cache.string()), 0);
    NvrtcOnDisk::settle();
    nvrtc.set_files(nvrtc_files(library, builtins));
    choose_nvrtc(store_for(cache.string()), 0);
    write_bytes(library, "librarz");
  }
  SECTION("it was not") {
    write_bytes(library, "librarz");
    is_content_known = false;
  }
  SECTION("it is gone") {
    fs::remove(library);
    is_content_known = false;
  }
  SECTION("the functions in use are of another file") {}
  for (int round = 1; round <= 2; ++round) {
    const Artifact artifact = ptx_of(request_in(cache));
    CHECK_FALSE(artifact.from_cache);
    CHECK(nvrtc.compiles().size() == static_cast<std::size_t>(round));
    const auto digest = value_of(artifact.identity.compiler.fields(), "libnvrtc");
    CHECK(digest == (is_content_known ? std::optional(to_hex(sha256("library"))) : std::nullopt));
  }
  CHECK(entries_in(cache, Kind::ptx).empty());
  if (is_content_known) return;
  CHECK_FALSE(cached_machine_code_of(request_in(cache)));
  const Error error = error_of([&] { assemble_machine_code_of(request_in(cache), "/nowhere/helper"); });
  CHECK(error.status() == MGEMM_COMPILE);
  CHECK(std::string(error.what()).find(library) != std::string::npos);
}

// For tools/test, which runs two NVRTC versions side by side: prints the artifact of one.
TEST_CASE("artifact: print", "[.artifact_child]") {
  const Artifact artifact = ptx_of(request_in(given("MGEMM_TEST_CACHE")));
  write_bytes(given("MGEMM_TEST_RESULT"),
              to_hex(digest_of(artifact)) + (artifact.from_cache ? " cached" : " compiled"));
}

// Catches entries of one NVRTC version given to another.
TEST_CASE("artifact: two NVRTC versions side by side have entries of their own", "[cache]") {
  const char* const second = std::getenv("MGEMM_TEST_SECOND_NVRTC");
  if (second == nullptr) MGEMM_SKIP("MGEMM_TEST_SECOND_NVRTC does not name a second NVRTC");
  const auto first = nvrtc_by_name(process_environment(), 0);
  if (!first) MGEMM_SKIP("no NVRTC on this machine");
  const TempFolder folder;
  const std::string result = (folder.path() / "result").string();
  const auto run = [&](const std::string& nvrtc) {
    Child child("artifact: print",
                {"MAMBA_GEMM_NVRTC=" + nvrtc, "MGEMM_TEST_CACHE=" + (folder.path() / "cache").string(),
                 "MGEMM_TEST_RESULT=" + result});
    CHECK(child.wait() == 0);
    return read_file(result);
  };
  const std::string one = run(first->path);
  const std::string other = run(second);
  CHECK(one.ends_with(" compiled"));
  CHECK(other.ends_with(" compiled"));
  CHECK(one.substr(0, 64) != other.substr(0, 64));
  CHECK(run(first->path) == one.substr(0, 64) + " cached");
  CHECK(run(second) == other.substr(0, 64) + " cached");
  CHECK(entries_in(folder.path() / "cache", Kind::ptx).size() == 2);
  CHECK(entries_in(folder.path() / "cache", Kind::memo).size() == 2);
}

// Catches a source identity that one changed byte of text or include does not change, or that holds a place.
TEST_CASE("artifact: what a source identity is made of") {
  const Identity identity = source_identity("f32_nn_single_a4_small");
  int includes = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    CHECK(value_of(identity.fields(), "include " + std::string(file.name)) == to_hex(sha256(file.text)));
    ++includes;
  }
  CHECK(identity.fields().size() == static_cast<std::size_t>(includes) + 2);
  CHECK(value_of(identity.fields(), "module") == "f32_nn_single_a4_small");
  CHECK(value_of(identity.fields(), "text") == to_hex(sha256(module_text("f32_nn_single_a4_small"))));
}
