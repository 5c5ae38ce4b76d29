// What a hostile or merely unlucky environment does to the cache, and what the cache must not do to it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <thread>

#include "base/log.hpp"
#include "cache/flight.hpp"
#include "cache/inspect.hpp"
#include "cache/key_lock.hpp"
#include "support/cache.hpp"
#include "support/captured_log.hpp"
#include "support/child.hpp"
#include "support/faulty_calls.hpp"
#include "support/small_disk.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using namespace std::chrono_literals;
using std::filesystem::path;

constexpr Kind kind = Kind::ptx;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

Entry of_size(std::uint64_t number, size_t bytes) {
  return {key_of(number), kind, {}, std::string(bytes - entry_head_bytes, 'x'), {}};
}

bool has(Store& store, std::uint64_t number) { return store.find(key_of(number), kind).entry.has_value(); }

mode_t mode_of(const path& file) {
  struct stat status {};
  return lstat(file.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace

// Catches files that somebody keeps in the folder and that are deleted because their name begins like a temporary's.
TEST_CASE("only what the cache itself left is cleaned away", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string());
  REQUIRE(store.keep(of_size(1, 1000)));
  const std::vector<std::string> theirs{"tmp-photos",
                                        "tmp-1-2-3",
                                        "mamba-gemm-tmp-",
                                        "mamba-gemm-tmp-1-2",
                                        "mamba-gemm-tmp-1-2-3.txt",
                                        "mamba-gemm-tmp-1-2-xyz",
                                        "mamba-gemm-tmp-1-2-3-4",
                                        "mamba-gemm-tmp--1-2-3",
                                        "mamba-gemm-tmp-01-2-3",
                                        "mamba-gemm-tmp-1-2-AB"};
  for (const std::string& name : theirs) write_file(cache / name, "x");
  const std::string readable = fresh_temporary_name();
  write_file(cache / readable, "x");
  REQUIRE(chmod((cache / readable).c_str(), 0644) == 0);
  const std::string link = fresh_temporary_name();
  std::filesystem::create_symlink(cache / "tmp-photos", cache / link);
  const std::string pipe = fresh_temporary_name();
  REQUIRE(mkfifo((cache / pipe).c_str(), 0600) == 0);
  const std::array<struct timespec, 2> long_ago{{{1000, 0}, {1000, 0}}};
  for (const std::string& name : {readable, link, pipe}) {
    REQUIRE(utimensat(AT_FDCWD, (cache / name).c_str(), long_ago.data(), AT_SYMLINK_NOFOLLOW) == 0);
  }
  const std::string dead = fresh_temporary_name();
  write_file(cache / dead, "x");
  REQUIRE(store.keep(of_size(2, 1000)));
  CHECK_FALSE(std::filesystem::exists(cache / dead));
  write_file(cache / dead, "x");
  purge_entries(store, std::nullopt);
  CHECK_FALSE(std::filesystem::exists(cache / dead));
  for (const std::string& name : theirs) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(cache / name));
  }
  for (const std::string& name : {readable, link, pipe}) {
    CAPTURE(name);
    CHECK(std::filesystem::is_regular_file(cache / "tmp-photos"));
    CHECK(mode_of(cache / name) != 0);
  }
}

// Catches a host with a limit on file sizes that is killed by SIGXFSZ, and a temporary that is left then.
TEST_CASE("a limit on file sizes costs only the cache", "[cache]") {
  const TempFolder folder;
  for (const rlim_t most : {rlim_t{0}, rlim_t{1000}}) {
    CAPTURE(most);
    std::fflush(nullptr);  // or an exit handler of a sanitizer writes what is left
    CHECK(in_fork([&] {
            set_log(MGEMM_LOG_OFF, nullptr, nullptr);
            const struct rlimit limit { most, most };
            if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
            Store store((folder.path() / std::to_string(most)).string());
            const Moved moved;
            const Entry large = of_size(1, 5000);
            if (!same_entry(make_once(store, large.key, kind, [&] { return Entry(large); }), large)) return 1;
            if (moved.failures(StoreFailure::too_large) != 1) return 2;
            if (temporaries_in(store.directory()) != 0) return 3;
            if (moved.by([](const CacheCounters& c) { return c.lock_failures; }) != 0) return 4;
            return store.keep(of_size(2, 900)) == (most == 1000) ? 0 : 5;
          }) == 0);
  }
}

// Catches a disk that dead writers' temporaries have filled and that stays so.
TEST_CASE("a disk full of dead temporaries heals", "[cache]") {
  const TempFolder folder;
  constexpr int no_mounts = 77;
  const int code = in_fork([&] {
    const path disk = folder.path() / "disk";
    if (!mount_small_disk(disk, "128k")) return no_mounts;
    set_log(MGEMM_LOG_OFF, nullptr, nullptr);
    Store store((disk / "cache").string());
    if (!store.keep(of_size(1, 1000))) return 1;
    write_file(disk / "cache" / fresh_temporary_name(), std::string(200000, 'x'));
    write_file(disk / "cache" / fresh_temporary_name(), "x");
    const Moved moved;
    if (!store.keep(of_size(2, 50000))) return 2;
    if (moved.all_failures() != 0 || temporaries_in(disk / "cache") != 0) return 3;
    return has(store, 1) && has(store, 2) ? 0 : 4;
  });
  if (code == no_mounts) MGEMM_SKIP("file systems cannot be mounted here");
  CHECK(code == 0);
}

// Catches a publish that is given up at the first fault of any of its calls.
TEST_CASE("keeping is tried twice", "[cache]") {
  for (const int error : {EIO, ENOSPC, EDQUOT, EFBIG}) {
    std::int64_t number = 1;
    for (bool is_past_the_last = false; !is_past_the_last; ++number) {
      CAPTURE(error, number);
      const TempFolder folder;
      Store store((folder.path() / "cache").string());
      REQUIRE(store.open() != nullptr);
      const FaultyCalls faults({.failing = number, .error = error, .without_sync = true});
      REQUIRE(store.keep(of_size(1, 1000)));
      is_past_the_last = FaultyCalls::calls_made() < number;
    }
    CHECK(number > 8);
  }
}

// Catches a cap that is not enforced because what is to be kept is larger than it, and a message about something else.
TEST_CASE("a cap that is smaller than the entry still holds", "[cache]") {
  for (const std::uint64_t cap : {0U, 1U, 1024U}) {
    CAPTURE(cap);
    const TempFolder folder;
    Store store((folder.path() / "cache").string());
    for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(store.keep(of_size(i, 1000)));
    Store small((folder.path() / "cache").string(), {.cap = cap});
    const Moved moved;
    const CapturedLog warnings(MGEMM_LOG_WARN);
    CHECK_FALSE(small.keep(of_size(9, 2000)));
    CHECK(moved.failures(StoreFailure::too_large) == 1);
    CHECK(cache_totals(store).entries == cap / 1000);
    CHECK(warnings.lines().size() == 1);
    CHECK(warnings.has("larger than the cap"));
    CHECK(warnings.has("MAMBA_GEMM_CACHE_MAX"));
    CHECK_FALSE(warnings.has("File too large"));
  }
}

// Catches the entry just made being evicted, because the others' times are a little ahead.
TEST_CASE("eviction spares the entry just kept", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  Store store(cache.string(), {.cap = 2500});
  for (std::uint64_t i = 0; i < 2; ++i) {
    REQUIRE(store.keep(of_size(i, 1000)));
    const std::array<struct timespec, 2> ahead{{{0, UTIME_OMIT}, {std::time(nullptr) + 1800, 0}}};
    REQUIRE(utimensat(AT_FDCWD, (cache / entry_name(key_of(i), kind)).c_str(), ahead.data(), 0) == 0);
  }
  REQUIRE(store.keep(of_size(5, 1000)));
  CHECK(has(store, 5));
  CHECK(cache_totals(store).entries == 2);
}

// Catches a descriptor that every deletion of the folder leaves open.
TEST_CASE("deleted folders leave no descriptors", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  REQUIRE(store.keep(of_size(1, 1000)));
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    std::filesystem::remove_all(store.directory());
    REQUIRE(store.keep(of_size(1, 1000)));
  }
  CHECK(open_descriptors() == before);
}

// Catches a descriptor closed while another thread uses it, a lock (also one of SHA-256's) that a fork leaves held, and
// races; run under the thread sanitizer too.
TEST_CASE("a folder deleted again and again under threads and forks", "[cache]") {
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  const FaultyCalls calls({.without_sync = true});
  set_log(MGEMM_LOG_OFF, nullptr, nullptr);
  REQUIRE(store.keep(of_size(1, 1000)));  // OpenSSL's own initialisation survives no fork
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  const std::ptrdiff_t before = open_descriptors();
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t number = 0; number < 4; ++number) {
      threads.emplace_back([&, number] {
        while (!is_over) {
          store.keep(of_size(number, 1000));
          const auto entry = store.load(key_of(number), kind);
          if (entry && entry->payload.size() != 1000 - entry_head_bytes) ++wrong;
        }
      });
    }
    constexpr int deletions = 20;
    for (int i = 0; i < deletions; ++i) {
      std::error_code ignored;
      std::filesystem::remove_all(store.directory(), ignored);
      if (sanitized) continue;  // its own locks do not survive a fork of several threads
      CHECK(in_fork([&] {
              for (int look = 0; look < 10; ++look) store.load(key_of(1), kind);
              return 0;
            }) == 0);
    }
    is_over = true;
  }
  set_log(MGEMM_LOG_WARN, nullptr, nullptr);
  CHECK(wrong == 0);
  CHECK(open_descriptors() == before);
  CHECK(store.keep(of_size(1, 1000)));
}

// Catches another folder of ours taken for the cache, and written to, after the host has closed our descriptor; and the
// host's own descriptor closed in return.
TEST_CASE("a descriptor number that now means something else", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  const path other = folder.path() / "other";
  REQUIRE(mkdir(other.c_str(), 0700) == 0);
  Store store(cache.string());
  REQUIRE(store.keep(of_size(1, 1000)));
  const int number = store.open()->descriptor();
  SECTION("another folder") {
    const os::Opened now = os::open_at(AT_FDCWD, other, O_RDONLY | O_DIRECTORY);
    REQUIRE(dup2(now.file.get(), number) == number);
    CHECK(has(store, 1));
  }
  SECTION("a file") {
    const os::Opened now = os::open_at(AT_FDCWD, folder.path() / "file", O_RDWR | O_CREAT, S_IRWXU);
    REQUIRE(dup2(now.file.get(), number) == number);
  }
  SECTION("a pipe or the like") { REQUIRE(dup2(STDERR_FILENO, number) == number); }
  CHECK(store.keep(of_size(2, 1000)));
  CHECK(has(store, 2));
  CHECK(std::filesystem::exists(cache / entry_name(key_of(2), kind)));
  CHECK(std::filesystem::is_empty(other));
  CHECK(fcntl(number, F_GETFD) >= 0);
  close(number);
}

// Catches a cache that is off for the life of the process because there were no descriptors for a moment.
TEST_CASE("what fails for a moment is tried again", "[cache]") {
  for (const int error : {EMFILE, ENFILE, ENOMEM, EIO, ESTALE, ENOSPC}) {
    CAPTURE(error);
    const TempFolder folder;
    Store store((folder.path() / "cache").string());
    {
      const CapturedLog warnings(MGEMM_LOG_WARN);
      const FaultyCalls faults({.failing = 1, .error = error, .for_ever = true});
      for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(store.load(key_of(1), kind));
        CHECK_FALSE(store.refusal().empty());
      }
      CHECK(warnings.lines().size() == 1);
    }
    CHECK(store.keep(of_size(1, 1000)));
    CHECK(has(store, 1));
    CHECK(store.refusal().empty());
  }
}

// Catches a cache that stays off after its folder has been mended, one that asks at every use, and repeated warnings.
TEST_CASE("a refusal by rule holds for a while", "[cache]") {
  const TempFolder folder;
  const path cache = folder.path() / "cache";
  REQUIRE(mkdir(cache.c_str(), 0700) == 0);
  REQUIRE(chmod(cache.c_str(), 0755) == 0);
  Store patient(cache.string(), {.refusal_memory = std::chrono::hours(1)});
  Store store(cache.string(), {.refusal_memory = 0ms});
  const CapturedLog warnings(MGEMM_LOG_WARN);
  for (Store* const each : {&patient, &store, &store}) CHECK_FALSE(each->keep(of_size(1, 1000)));
  CHECK(warnings.lines().size() == 1);
  {
    const FaultyCalls calls({});
    CHECK_FALSE(patient.keep(of_size(1, 1000)));
    CHECK(FaultyCalls::calls_made() == 0);
  }
  REQUIRE(chmod(cache.c_str(), 0750) == 0);
  CHECK_FALSE(store.keep(of_size(1, 1000)));
  CHECK(warnings.lines().size() == 2);
  REQUIRE(chmod(cache.c_str(), 0700) == 0);
  CHECK(store.keep(of_size(1, 1000)));
  CHECK_FALSE(patient.keep(of_size(1, 1000)));
  CHECK(warnings.lines().size() == 2);
}

// Catches modes that the umask decides, which then lock out an ordinary user.
TEST_CASE("modes do not depend on the umask", "[cache]") {
  const TempFolder folder;
  constexpr uid_t stranger = 12345;
  const path home = folder.path() / "home";
  REQUIRE(mkdir(home.c_str(), 0755) == 0);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
    REQUIRE(chown(home.c_str(), stranger, stranger) == 0);
  }
  for (const mode_t mask : {mode_t{0777}, mode_t{0277}, mode_t{0}}) {
    CAPTURE(mask);
    CHECK(in_fork([&] {
            if (is_root && (setresgid(stranger, stranger, stranger) != 0 || setresuid(stranger, stranger, stranger))) {
              return 98;
            }
            umask(mask);
            const path above = home / std::to_string(mask);
            Store store((above / "inner" / "cache").string());
            const Moved moved;
            make_once(store, key_of(1), kind, [&] { return of_size(1, 1000); });
            if (!has(store, 1)) return 1;
            if (mode_of(above) != 0700 || mode_of(above / "inner") != 0700) return 2;
            if (mode_of(above / "inner" / "cache") != 0700) return 3;
            if (mode_of(above / "inner" / "cache" / "lock") != 0600) return 4;
            return moved.by([](const CacheCounters& c) { return c.lock_failures; }) == 0 ? 0 : 5;
          }) == 0);
  }
}
