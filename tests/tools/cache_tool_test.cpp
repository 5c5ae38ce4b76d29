// mamba-gemm cache, on folders that the store has filled.
#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cache/names.hpp"
#include "process.hpp"
#include "support/cache.hpp"
#include "support/test.hpp"
#include "temp_folder.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using nlohmann::json;
using std::filesystem::path;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Entry entry_of(const std::string& start, Kind kind, const std::string& payload) {
  Entry entry;
  entry.key = *digest_from_hex(start + std::string(64 - start.size(), '0'));
  entry.kind = kind;
  entry.fields = {{"module", "f32_tile"}, {"option", "-a"}, {"option", "-b"}, {"nothing", std::nullopt}};
  entry.payload = payload;
  return entry;
}

/// Three sound entries, two of one key, and one that is damaged.
struct Cache {
  TempFolder temporary;
  path folder = temporary.path() / "cache";
  Entry first = entry_of("abcd1", Kind::ptx, "// ptx\n");
  Entry second = entry_of("abcd2", Kind::ptx, std::string("\0\x1b[31m\n", 7));
  Entry third = entry_of("abcd2", Kind::machine_code, "cubin");
  Entry bad = entry_of("bad0", Kind::memo, "memo");

  Cache() {
    Store store(folder.string());
    for (const Entry& entry : {first, second, third, bad}) REQUIRE(store.keep(entry));
    std::string bytes = read_bytes(file(bad));
    bytes.back() = '?';
    write_file(file(bad), bytes);
  }
  path file(const Entry& entry) const { return folder / entry_name(entry.key, entry.kind); }

  /// The tool on this folder, which the environment names.
  Finished run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "cache");
    return run_tool(arguments, {"MAMBA_GEMM_CACHE=" + folder.string(), "MAMBA_GEMM_CACHE_MAX"});
  }
};

/// The tool on a folder named by option, whatever the environment says.
Finished run_on(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "cache");
  arguments.insert(arguments.end(), {"--dir", folder});
  return run_tool(arguments, {"MAMBA_GEMM_CACHE=off"});
}

}  // namespace

// Catches entries that are not listed, or listed as sound when they are not, and an exit code that does not tell.
TEST_CASE("cache list") {
  const Cache cache;
  const Finished table = cache.run({"list"});
  CAPTURE(table.out, table.err);
  CHECK(table.exit_code == 1);
  CHECK(contains(table.out, "abcd100000000000  ptx"));
  CHECK(contains(table.out, "f32_tile\n"));
  CHECK(contains(table.out, "NOT SOUND: its SHA-256 does not match\n"));
  CHECK(contains(table.out, "4 entries, "));
  CHECK(contains(table.out, cache.folder.string() + "\n"));
  const Finished machine = cache.run({"list", "--json"});
  CHECK(machine.exit_code == 1);
  const json listing = json::parse(machine.out);
  CHECK(listing["path"] == cache.folder.string());
  CHECK(listing["rule"] == "MAMBA_GEMM_CACHE");
  REQUIRE(listing["entries"].size() == 4);
  for (const json& entry : listing["entries"]) {
    for (const char* const key :
         {"key", "kind", "bytes", "age_seconds", "sound", "problem", "payload_bytes", "payload_sha256", "fields"}) {
      CHECK(entry.contains(key));
    }
  }
  REQUIRE(cache.run({"verify", "--repair"}).exit_code == 0);
  CHECK(cache.run({"list"}).exit_code == 0);
}

// Catches a prefix that finds another entry, a payload that is not the entry's bytes, and escape sequences of an entry
// that reach the terminal.
TEST_CASE("cache show") {
  const Cache cache;
  const Finished text = cache.run({"show", "ABCD1"});
  CAPTURE(text.out, text.err);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "state     sound\n"));
  CHECK(contains(text.out, "payload   7 bytes, SHA-256 " + to_hex(sha256(cache.first.payload))));
  CHECK(contains(text.out, "field     option: -a\nfield     option: -b\nfield     nothing: -\n"));

  const Finished machine = cache.run({"show", to_hex(cache.third.key) + ":machine-code", "--json"});
  CHECK(machine.exit_code == 0);
  const json shown = json::parse(machine.out);
  REQUIRE(shown["entries"].size() == 1);
  CHECK(shown["entries"][0]["kind"] == "machine-code");
  CHECK(shown["path"] == cache.folder.string());

  const std::string file = cache.temporary.file("payload");
  const Finished saved = cache.run({"show", "abcd2:ptx", "--payload", file});
  CHECK(saved.exit_code == 0);
  CHECK(contains(saved.out, "state     sound\n"));
  CHECK(read_bytes(file) == cache.second.payload);
  const Finished piped = cache.run({"show", "abcd2:ptx", "--payload", "-"});
  CHECK(piped.exit_code == 0);
  CHECK(piped.out == cache.second.payload);
}

// Catches a key that means nothing, or several entries, and shows one of them all the same.
TEST_CASE("cache show without one entry to show") {
  const Cache cache;
  const Finished ambiguous = cache.run({"show", "abcd"});
  CAPTURE(ambiguous.err);
  CHECK(ambiguous.exit_code == 2);
  CHECK(ambiguous.out.empty());
  CHECK(contains(ambiguous.err, "3 entries could be meant"));
  CHECK(contains(ambiguous.err, to_hex(cache.second.key) + ":machine-code"));
  CHECK(cache.run({"show", "abcd2"}).exit_code == 2);
  const Finished missing = cache.run({"show", "ffff"});
  CHECK(missing.exit_code == 1);
  CHECK(missing.out.empty());
  CHECK(contains(missing.err, "there is no entry ffff"));
  CHECK(cache.run({"show", "abcd1:memo"}).exit_code == 1);
}

// Catches a damaged payload that is handed out.
TEST_CASE("cache show of a damaged entry") {
  const Cache cache;
  const Finished text = cache.run({"show", "bad0"});
  CHECK(text.exit_code == 1);
  CHECK(contains(text.out, "not sound: its SHA-256 does not match"));
  const std::string file = cache.temporary.file("payload");
  const Finished payload = cache.run({"show", "bad0", "--payload", file});
  CAPTURE(payload.err);
  CHECK(payload.exit_code == 3);
  CHECK(contains(payload.err, "MGEMM_IO"));
  CHECK_FALSE(std::filesystem::exists(file));
}

// Catches a check that finds nothing, a repair that removes too much, and an exit code that does not tell.
TEST_CASE("cache verify") {
  const Cache cache;
  const Finished found = cache.run({"verify"});
  CAPTURE(found.out, found.err);
  CHECK(found.exit_code == 1);
  CHECK(found.out ==
        to_hex(cache.bad.key) + ":memo is not sound: its SHA-256 does not match\n3 entries sound, 1 not\n");
  const json machine = json::parse(cache.run({"verify", "--json"}).out);
  CHECK(machine["sound"] == 3);
  CHECK(machine["bad"] == 1);
  CHECK(machine["removed"] == 0);
  REQUIRE(machine["entries"].size() == 1);
  CHECK(machine["entries"][0]["key"] == to_hex(cache.bad.key));
  CHECK(std::filesystem::exists(cache.file(cache.bad)));
  const Finished repaired = cache.run({"verify", "--repair"});
  CHECK(repaired.exit_code == 0);
  CHECK(contains(repaired.out, "; removed 1 ("));
  CHECK_FALSE(std::filesystem::exists(cache.file(cache.bad)));
  const Finished again = cache.run({"verify"});
  CHECK(again.exit_code == 0);
  CHECK(again.out == "3 entries sound, 0 not\n");
}

// Catches a removal that failed and looks like success. A folder that is not empty stands for what cannot be removed.
TEST_CASE("cache verify and purge say what they could not remove") {
  const Cache cache;
  std::filesystem::remove(cache.file(cache.bad));
  std::filesystem::create_directories(cache.file(cache.bad) / "inside");
  const Finished repaired = cache.run({"verify", "--repair"});
  CHECK(repaired.exit_code == 1);
  CHECK(contains(repaired.out, "1 could not be removed"));
  const Finished purged = cache.run({"purge", "--all"});
  CHECK(purged.exit_code == 1);
  CHECK(contains(purged.out, "removed 3 entries"));
  CHECK(contains(purged.err, "1 entry could not be removed"));
}

// Catches a purge that takes what is still in use, or leaves what is not.
TEST_CASE("cache purge") {
  const Cache cache;
  const auto old = std::filesystem::last_write_time(cache.file(cache.first)) - std::chrono::hours(49);
  std::filesystem::last_write_time(cache.file(cache.first), old);
  CHECK(cache.run({"purge", "--older-than", "3d"}).out == "removed 0 entries, 0 bytes\n");
  const Finished machine = cache.run({"purge", "--older-than", "2d", "--json"});
  CHECK(machine.exit_code == 0);
  CHECK(json::parse(machine.out)["removed"] == 1);
  CHECK_FALSE(std::filesystem::exists(cache.file(cache.first)));
  CHECK(contains(cache.run({"purge", "--all"}).out, "removed 3 entries, "));
  CHECK(contains(cache.run({"list"}).out, "0 entries"));
}

// Catches numbers that do not add up to what is there.
TEST_CASE("cache stats and path") {
  const Cache cache;
  const Finished text = cache.run({"stats"});
  CAPTURE(text.out, text.err);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.out, "of 256.0 MiB, 4 entries\n"));
  CHECK(contains(text.out, "machine-code  1 entry, "));
  const json machine = json::parse(cache.run({"stats", "--json"}).out);
  CHECK(machine["entry_count"] == 4);
  CHECK(machine["kinds"]["ptx"]["entry_count"] == 2);
  CHECK(machine["counters"]["hits"]["ptx"] == 0);
  CHECK(json::parse(cache.run({"path", "--json"}).out) ==
        json({{"path", cache.folder.string()}, {"rule", "MAMBA_GEMM_CACHE"}}));
  CHECK(run_on(cache.folder.string() + "/", {"stats"}).exit_code == 0);
  CHECK(run_on(cache.folder.string(), {"path"}).out == cache.folder.string() + "\n");
  const std::string not_utf8 = cache.folder.string() + "/caf\xe9";
  CHECK(run_on(not_utf8, {"path"}).out == not_utf8 + "\n");
}

// Catches a folder that is made by looking at it, or whose absence is an error.
TEST_CASE("a cache folder that does not exist") {
  const TempFolder temporary;
  const std::string folder = temporary.file("missing");
  for (const char* const command : {"list", "verify", "stats"}) {
    CAPTURE(command);
    CHECK(run_on(folder, {command}).exit_code == 0);
  }
  CHECK(contains(run_on(folder, {"stats"}).out, "not there yet"));
  CHECK(run_on(folder, {"purge", "--all"}).exit_code == 0);
  CHECK(run_on(folder, {"show", "abcd"}).exit_code == 1);
  CHECK_FALSE(std::filesystem::exists(folder));
}

// Catches a refused folder that looks empty.
TEST_CASE("a refused cache folder") {
  const Cache cache;
  REQUIRE(chmod(cache.folder.c_str(), 0755) == 0);
  const std::vector<std::vector<std::string>> commands{{"list"}, {"show", "abcd1"}, {"verify"}, {"purge", "--all"}};
  for (const auto& command : commands) {
    const Finished done = cache.run(command);
    CAPTURE(command, done.out, done.err);
    CHECK(done.exit_code == 3);
    CHECK(done.out.empty());
    CHECK(contains(done.err, "has mode 0755, not 0700; run chmod 700"));
  }
  const Finished stats = cache.run({"stats"});
  CHECK(stats.exit_code == 3);
  CHECK(contains(stats.out, "refused: "));
  CHECK(cache.run({"path"}).exit_code == 0);  // says where, without a look
  CHECK(std::filesystem::exists(cache.file(cache.first)));
}

// Catches a missing cache that looks like success.
TEST_CASE("no cache at all") {
  const std::vector<std::vector<std::string>> commands{{"list"}, {"show", "abcd"}, {"verify"}, {"purge", "--all"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.begin(), "cache");
    const Finished done = run_tool(command, {"MAMBA_GEMM_CACHE=off"});
    CAPTURE(command, done.out, done.err);
    CHECK(done.exit_code == 1);
    CHECK(done.out.empty());
    CHECK(contains(done.err, "there is no cache folder: MAMBA_GEMM_CACHE is 'off'"));
  }
  CHECK(run_tool({"cache", "stats"}, {"MAMBA_GEMM_CACHE=off"}).exit_code == 1);
}

// Catches a purge that a slip of the pen lets take everything, and other words that are not understood.
TEST_CASE("cache usage errors") {
  const Cache cache;
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"purge"}, "--older-than"},
      {{"purge", "--all", "--older-than", "7d"}, "either"},
      {{"purge", "--older-than", "7"}, "--older-than 7:"},
      {{"purge", "--older-than", "d"}, "--older-than d:"},
      {{"purge", "--older-than", "7w"}, "--older-than 7w:"},
      {{"purge", "--older-than", "-7d"}, "--older-than"},
      {{"purge", "--older-than", "7dd"}, "--older-than 7dd:"},
      {{"purge", "--older-than", "9223372036854775807d"}, "--older-than"},
      {{"show"}, "key"},
      {{"show", "abc"}, "4 to 64 hexadecimal"},
      {{"show", "xyzw"}, "4 to 64 hexadecimal"},
      {{"show", std::string(65, 'a')}, "4 to 64 hexadecimal"},
      {{"show", "abcd1:"}, "the kind after ':'"},
      {{"show", "abcd1:cubin"}, "the kind after ':'"},
      {{"show", "abcd1", "--payload", "-", "--json"}, "exclude each other"},
      {{"show", "abcd1", "--payload", "/no/such/folder/file"}, "cannot be written"},
      {{"show", "abcd1", "--payload", "/dev/null"}, "not a regular file"},
      {{"list", "--dir", ""}, "--dir"},
  };
  for (const auto& [arguments, reason] : cases) {
    const Finished done = cache.run(arguments);
    CAPTURE(arguments, reason, done.out, done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    CHECK(contains(done.err, reason));
  }
  CHECK(json::parse(cache.run({"list", "--json"}).out)["entries"].size() == 4);
}
