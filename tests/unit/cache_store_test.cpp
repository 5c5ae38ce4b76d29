// Entries in a directory: found, kept, rejected and replaced.
#include "cache/store.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "cache/flight.hpp"
#include "support/cache.hpp"
#include "support/child.hpp"
#include "support/small_disk.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using std::filesystem::path;

constexpr Kind kind = Kind::ptx;

struct Folder {
  TempFolder folder;
  path cache = folder.path() / "cache";
  Store store{cache.string()};
  Random random{fresh_seed()};
  Digest key = key_of(random());
  Entry entry = recognisable(key, kind, random);
  path file = cache / entry_name(key, kind);
};

bool is_found(Store& store, const Entry& entry) {
  const auto found = store.load(entry.key, entry.kind);
  return found && same_entry(*found, entry) && found->payload_digest == sha256(entry.payload);
}

mode_t mode_of(const path& file) {
  struct stat status {};
  REQUIRE(lstat(file.c_str(), &status) == 0);
  return status.st_mode;
}

/// What is in the entry's place is a miss that is counted as `reject`, and is replaced by the next store.
void check_rejected_and_replaced(Folder& f, Reject reject) {
  const Moved moved;
  CHECK_FALSE(f.store.load(f.key, kind));
  CHECK(moved.rejects(reject) == 1);
  CHECK(moved.all_rejects() == 1);
  CHECK(moved.misses() == 1);
  const Entry made = make_once(f.store, f.key, kind, [&] { return f.entry; });
  CHECK(same_entry(made, f.entry));
  CHECK(moved.compiles() == 1);
  CHECK(moved.all_failures() == 0);
  CHECK(is_found(f.store, f.entry));
  CHECK(mode_of(f.file) == (S_IFREG | 0600U));
}

std::vector<std::string>& warnings() {
  static std::vector<std::string> lines;
  return lines;
}

void collect(std::int32_t level, const char* line, void* /*user*/) {
  if (level <= MGEMM_LOG_WARN) warnings().emplace_back(line);
}

}  // namespace

// Catches entries that are lost, mixed up, or lie open to others.
TEST_CASE("what is kept is found", "[cache]") {
  Folder f;
  const Moved moved;
  CHECK_FALSE(f.store.load(f.key, kind));
  CHECK(moved.misses() == 1);
  CHECK(moved.all_rejects() == 0);
  std::vector<Entry> entries;
  const mode_t mask = umask(0777);
  for (int i = 0; i < 40; ++i) {
    entries.push_back(random_entry(f.random));
    CHECK(f.store.keep(entries.back()));
  }
  umask(mask);
  for (const Entry& entry : entries) {
    CHECK(is_found(f.store, entry));
    CHECK(mode_of(f.cache / entry_name(entry.key, entry.kind)) == (S_IFREG | 0600U));
  }
  CHECK(moved.hits() == entries.size());
  CHECK(temporaries_in(f.cache) == 0);
  // Under another kind, or through another open store, after a restart.
  const Entry& first = entries.front();
  CHECK_FALSE(f.store.load(first.key, first.kind == Kind::memo ? Kind::ptx : Kind::memo));
  Store other(f.cache.string());
  CHECK(is_found(other, first));
  CHECK(other.remove(first.key, first.kind));
  CHECK_FALSE(other.remove(first.key, first.kind));
  CHECK_FALSE(f.store.load(first.key, first.kind));
  CHECK(f.store.remove(entries.back().key) == 1);
}

// Catches a cache that does something when it is off.
TEST_CASE("a store that is off keeps nothing", "[cache]") {
  Store store("");
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  CHECK_FALSE(store.keep(entry));
  CHECK_FALSE(store.load(entry.key, entry.kind));
  CHECK(store.open() == nullptr);
  CHECK(store.refusal() == "the cache is off");
  CHECK(same_entry(make_once(store, entry.key, kind, [&] { return Entry(entry); }), entry));
}

// Catches damage that is used, an entry that is never repaired, and one that is unlinked before it is replaced.
TEST_CASE("a damaged entry is a miss and is replaced", "[cache]") {
  Folder f;
  REQUIRE(f.store.keep(f.entry));
  const std::string sound = read_file(f.file);
  for (const size_t at : {size_t{0}, size_t{17}, size_t{21}, size_t{30}, size_t{56}, size_t{64}, size_t{80},
                          size_t{110}, size_t{140}, sound.size() / 2, sound.size() - 1}) {
    CAPTURE(at);
    std::string bytes = sound;
    bytes[at] = static_cast<char>(~bytes[at]);
    write_file(f.file, bytes);
    Reject reject = Reject::none;
    static_cast<void>(decode(bytes, reject));
    check_rejected_and_replaced(f, reject);
  }
  for (const size_t length :
       {size_t{0}, size_t{15}, size_t{16}, size_t{19}, size_t{135}, size_t{136}, size_t{150}, sound.size() - 1}) {
    CAPTURE(length);
    write_file(f.file, sound.substr(0, length));
    check_rejected_and_replaced(f, Reject::truncated);
  }
  write_file(f.file, sound + "x");
  check_rejected_and_replaced(f, Reject::overlong);
  write_file(f.file, "mamba-gemm ptx 1\n" + to_hex(sha256("x")) + "\nx");
  check_rejected_and_replaced(f, Reject::foreign);
  std::string older = sound;
  older[16] = 0;
  write_file(f.file, older);
  check_rejected_and_replaced(f, Reject::version);
}

// Catches an entry that was copied to another name and is taken for that one's.
TEST_CASE("an entry under another's name is a miss", "[cache]") {
  Folder f;
  const Entry other = recognisable(key_of(f.random()), kind, f.random);
  REQUIRE(f.store.keep(other));
  std::filesystem::copy_file(f.cache / entry_name(other.key, kind), f.file);
  check_rejected_and_replaced(f, Reject::wrong_key);
  Entry other_kind = f.entry;
  other_kind.kind = Kind::memo;
  write_file(f.file, encode(other_kind));
  check_rejected_and_replaced(f, Reject::wrong_key);
}

// Catches files that others can write to or have made, pipes that block, and links that are followed.
TEST_CASE("only plain private files are entries", "[cache]") {
  Folder f;
  REQUIRE(f.store.keep(f.entry));

  std::filesystem::create_hard_link(f.file, f.folder.path() / "elsewhere");
  check_rejected_and_replaced(f, Reject::hard_linked);
  for (const mode_t mode : {0644U, 0660U, 0400U, 0700U, 04600U}) {
    CAPTURE(mode);
    REQUIRE(chmod(f.file.c_str(), mode) == 0);
    check_rejected_and_replaced(f, Reject::mode);
  }
  if (geteuid() == 0) {
    REQUIRE(chown(f.file.c_str(), 12345, 0) == 0);
    check_rejected_and_replaced(f, Reject::owner);
  }
  const path outside = f.folder.path() / "outside";
  write_file(outside, encode(f.entry));
  std::filesystem::remove(f.file);
  std::filesystem::create_symlink(outside, f.file);
  check_rejected_and_replaced(f, Reject::not_a_file);
  CHECK(std::filesystem::exists(outside));
  std::filesystem::remove(f.file);
  REQUIRE(mkfifo(f.file.c_str(), 0600) == 0);
  check_rejected_and_replaced(f, Reject::not_a_file);
  std::filesystem::remove(f.file);
  REQUIRE(mkdir(f.file.c_str(), 0700) == 0);
  check_rejected_and_replaced(f, Reject::not_a_file);
  std::filesystem::resize_file(f.file, most_entry_bytes + 1);
  check_rejected_and_replaced(f, Reject::overlong);
}

// Catches an exception, or a loop, over what cannot be replaced.
TEST_CASE("a full folder in an entry's place costs only the cache", "[cache]") {
  Folder f;
  REQUIRE(f.store.keep(f.entry));
  std::filesystem::remove(f.file);
  std::filesystem::create_directories(f.file / "inner");
  for (int i = 0; i < 2; ++i) {
    const Moved moved;
    CHECK(same_entry(make_once(f.store, f.key, kind, [&] { return f.entry; }), f.entry));
    CHECK(moved.compiles() == 1);
    CHECK(moved.failures(StoreFailure::other) == 1);
    CHECK(temporaries_in(f.cache) == 0);
  }
}

// Catches leftovers that stay for ever, and a living writer's file that is taken away.
TEST_CASE("leftover temporaries do no harm and go away", "[cache]") {
  Folder f;
  REQUIRE(f.store.open() != nullptr);
  const Moved moved;
  write_file(f.cache / fresh_temporary_name(), std::string(1 << 20, 'x'));
  write_file(f.cache / fresh_temporary_name(), encode(f.entry) + std::string(1 << 20, 'x'));
  CHECK(f.store.keep(f.entry));
  CHECK(is_found(f.store, f.entry));
  CHECK(temporaries_in(f.cache) == 0);
  CHECK(moved.by([](const CacheCounters& c) { return c.reaped; }) == 2);

  // One whose writer lives stays, until it is a day old.
  const path alive = f.cache / fresh_temporary_name();
  write_file(alive, "x");
  const os::Opened writer = os::open_at(AT_FDCWD, alive, O_RDWR);
  REQUIRE(writer.file);
  REQUIRE(os::try_lock(writer.file.get(), 0, 1) == 0);
  CHECK(f.store.keep(f.entry));
  CHECK(temporaries_in(f.cache) == 1);
  const std::array<struct timespec, 2> long_ago{{{1000, 0}, {1000, 0}}};
  REQUIRE(utimensat(AT_FDCWD, alive.c_str(), long_ago.data(), 0) == 0);
  CHECK(f.store.keep(f.entry));
  CHECK(temporaries_in(f.cache) == 0);
}

// Catches entries that cannot be read back but are written, and ones that push out everything else.
TEST_CASE("what is too large is not kept", "[cache]") {
  Folder f;
  Store small(f.cache.string(), {.cap = 10000});
  REQUIRE(small.keep(f.entry));
  Entry large = recognisable(key_of(5), kind, f.random);
  large.payload.resize(10001);
  const Moved moved;
  CHECK_FALSE(small.keep(large));
  CHECK(moved.failures(StoreFailure::too_large) == 1);
  CHECK(is_found(small, f.entry));
  large.payload = "small";
  large.fields = {{"large", std::string(most_field_bytes, 'x')}};
  CHECK_FALSE(f.store.keep(large));
  large.fields.clear();
  large.payload.resize(most_entry_bytes);
  CHECK_FALSE(f.store.keep(large));
  CHECK(moved.failures(StoreFailure::too_large) == 3);
  CHECK_FALSE(f.store.load(large.key, kind));
}

// Catches a store that goes on in a folder that was deleted, and one that never recovers.
TEST_CASE("a cache that is deleted under us is made again", "[cache]") {
  Folder f;
  REQUIRE(f.store.keep(f.entry));
  std::filesystem::remove_all(f.cache);
  CHECK_FALSE(f.store.load(f.key, kind));
  CHECK(f.store.keep(f.entry));
  std::filesystem::remove_all(f.cache);
  CHECK(same_entry(make_once(f.store, f.key, kind, [&] { return f.entry; }), f.entry));
  CHECK(is_found(f.store, f.entry));
  CHECK((mode_of(f.cache) & 0777U) == 0700);
}

// Catches warnings that repeat or say nothing, and a refused directory that is written to.
TEST_CASE("a refused directory is warned of once and left alone", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  REQUIRE(mkdir(cache.c_str(), 0755) == 0);
  REQUIRE(chmod(cache.c_str(), 0755) == 0);
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  warnings().clear();
  set_log(MGEMM_LOG_WARN, collect, nullptr);
  for (int i = 0; i < 3; ++i) {
    Store store(cache.string());
    CHECK_FALSE(store.keep(entry));
    CHECK_FALSE(store.load(entry.key, kind));
    CHECK(same_entry(make_once(store, entry.key, kind, [&] { return Entry(entry); }), entry));
    CHECK(store.refusal().find("0755") != std::string::npos);
  }
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  REQUIRE(warnings().size() == 1);
  CHECK(warnings().front().find(cache.string()) != std::string::npos);
  CHECK(warnings().front().find("0755") != std::string::npos);
  CHECK(warnings().front().find("chmod 700") != std::string::npos);
  CHECK(std::filesystem::is_empty(cache));
  CHECK(&store_for(cache.string()) == &store_for(cache.string()));
}

// Catches a full or read-only file system that costs more than the cache: the real thing, in a mount namespace.
TEST_CASE("a small file system that fills up, then is read-only", "[cache]") {
  const TempFolder folder;
  constexpr int no_mounts = 77;
  const int code = in_fork([&] {
    const path disk = folder.path() / "disk";
    if (!mount_small_disk(disk, "64k")) return no_mounts;
    set_log(MGEMM_LOG_OFF, nullptr, nullptr);
    Random random(fresh_seed());
    Store store((disk / "cache").string());
    const Entry fits = recognisable(key_of(1), kind, random);
    if (!store.keep(fits)) return 1;
    const Moved moved;
    Entry large = recognisable(key_of(2), kind, random);
    large.payload.resize(100000);
    if (!same_entry(make_once(store, large.key, kind, [&] { return Entry(large); }), large)) return 2;
    if (moved.failures(StoreFailure::no_space) != 1 || temporaries_in(disk / "cache") != 0) return 3;
    if (mount(nullptr, disk.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=64k,mode=0700") != 0) return no_mounts;
    if (!is_found(store, fits)) return 4;
    const Entry other = recognisable(key_of(3), kind, random);
    if (!same_entry(make_once(store, other.key, kind, [&] { return Entry(other); }), other)) return 5;
    if (moved.failures(StoreFailure::read_only) != 1) return 6;
    Store again((disk / "cache").string());  // opened when it was read-only already
    if (!is_found(again, fits)) return 7;
    Store missing((disk / "missing").string());
    if (!same_entry(make_once(missing, other.key, kind, [&] { return Entry(other); }), other)) return 8;
    return 0;
  });
  if (code == no_mounts) MGEMM_SKIP("file systems cannot be mounted here");
  CHECK(code == 0);
}
