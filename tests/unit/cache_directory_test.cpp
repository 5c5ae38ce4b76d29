// Which directories are trusted. Most cases need root, to make things that belong to others.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/directory.hpp"
#include "support/acl.hpp"
#include "support/cache.hpp"
#include "support/child.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using std::filesystem::path;

constexpr uid_t stranger = 12345;

/// "" if it is opened, else what is said against it.
std::string objection(const path& folder, Creation creation = Creation::allowed) {
  const DirectoryResult result = open_private_directory(folder.string(), creation);
  if (result.directory) return result.directory->descriptor() >= 0 ? "" : "opened without a descriptor";
  CHECK_FALSE(result.refusal.component.empty());
  CHECK_FALSE(result.refusal.rule.empty());
  CHECK((result.refusal.is_absent || !result.refusal.remedy.empty()));
  return to_string(result.refusal);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

mode_t mode_of(const path& file) {
  struct stat status {};
  REQUIRE(lstat(file.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

path made(const path& folder, mode_t mode) {
  REQUIRE(mkdir(folder.c_str(), S_IRWXU) == 0);
  REQUIRE(chmod(folder.c_str(), mode) == 0);
  return folder;
}

void give_to(const path& file, uid_t user, gid_t group) { REQUIRE(lchown(file.c_str(), user, group) == 0); }

bool write_text(const char* file, const std::string& text) {
  const os::Opened opened = os::open_at(AT_FDCWD, file, O_WRONLY);
  return opened.file && os::write_all(opened.file.get(), text) == 0;
}

/// Becomes an ordinary user.
bool become(uid_t user) {
  return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

}  // namespace

// Catches a cold start that needs help, and modes that the umask decides.
TEST_CASE("a missing cache and its parents are made 0700", "[cache]") {
  const TempFolder folder;
  for (const mode_t mask : {mode_t{022}, mode_t{0}, mode_t{077}}) {
    CAPTURE(mask);
    const path home = made(folder.path() / ("home" + std::to_string(mask)), 0755);
    const mode_t before = umask(mask);
    const std::string said = objection(home / ".cache" / "deep" / "mamba-gemm");
    umask(before);
    CHECK(said.empty());
    CHECK(mode_of(home / ".cache") == 0700);
    CHECK(mode_of(home / ".cache" / "deep") == 0700);
    CHECK(mode_of(home / ".cache" / "deep" / "mamba-gemm") == 0700);
    CHECK(objection(home / ".cache" / "deep" / "mamba-gemm").empty());
  }
}

// Catches a look that leaves folders behind.
TEST_CASE("nothing is made when nothing is to be made", "[cache]") {
  const TempFolder folder;
  for (const path& missing : {folder.path() / "cache", folder.path() / "a" / "b" / "cache"}) {
    const DirectoryResult result = open_private_directory(missing.string(), Creation::never);
    CHECK_FALSE(result.directory);
    CHECK(result.refusal.is_absent);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  made(folder.path() / "cache", 0700);
  CHECK(objection(folder.path() / "cache", Creation::never).empty());
}

// Catches a leaf that others can read, write or have made.
TEST_CASE("the cache's own folder must be ours and 0700", "[cache]") {
  const TempFolder folder;
  CHECK(objection(made(folder.path() / "right", 0700)).empty());
  CHECK(objection((folder.path() / "right").string() + "//./").empty());
  CHECK(objection(made(folder.path() / "setgid", 02700)).empty());
  for (const mode_t mode : {0755U, 0777U, 0750U, 0701U, 0500U, 01700U, 04700U}) {
    CAPTURE(mode);
    const std::string said = objection(made(folder.path() / std::to_string(mode), mode));
    CHECK(contains(said, "not 0700"));
    // chmod leaves the bits beyond 0777 of a folder alone unless told about them; a sticky folder is shared with
    // others.
    CHECK(contains(said, mode == 04700U ? "chmod 00700" : "chmod 700") == (mode != 01700U));
    CHECK(mode_of(folder.path() / std::to_string(mode)) == mode);
  }
  write_file(folder.path() / "file", "x");
  CHECK(contains(objection(folder.path() / "file"), "is not a folder"));
  std::filesystem::create_directory_symlink(folder.path() / "right", folder.path() / "link");
  CHECK(contains(objection(folder.path() / "link"), "is a symbolic link"));
  std::filesystem::create_directory_symlink(folder.path() / "nowhere", folder.path() / "dangling");
  CHECK(contains(objection(folder.path() / "dangling"), "is a symbolic link"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
  for (const char* odd : {"", "relative/cache", "/", "//", "/tmp/..", "/."}) {
    CAPTURE(odd);
    CHECK(contains(objection(odd), "is not the absolute path"));
  }
  CHECK_FALSE(objection(folder.path() / "file" / "cache").empty());
  CHECK_FALSE(objection(folder.path() / "nothing" / ".." / "cache").empty());
  CHECK_FALSE(objection("/proc/self/cache").empty());
}

// Catches ancestors through which somebody else could take the cache away, and ordinary ones that are refused.
TEST_CASE("folders above the cache", "[cache]") {
  const TempFolder folder;
  CHECK(objection(made(folder.path() / "0755", 0755) / "cache").empty());
  CHECK(objection(made(folder.path() / "0711", 0711) / "cache").empty());
  CHECK(objection(made(folder.path() / "sticky", 01777) / "cache").empty());
  CHECK(objection(made(folder.path() / "our-group", 0775) / "cache").empty());
  CHECK(objection(made(folder.path() / "setgid", 02755) / "cache").empty());
  CHECK((mode_of(folder.path() / "setgid" / "cache") & 0777U) == 0700);

  const std::string open_to_all = objection(made(folder.path() / "0757", 0757) / "cache");
  CHECK(contains(open_to_all, "can be written by everyone"));
  CHECK(contains(open_to_all, (folder.path() / "0757").string()));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "0757" / "cache"));
  // Not only the nearest counts.
  made(folder.path() / "0777", 0777);
  CHECK(contains(objection(made(folder.path() / "0777" / "inner", 0755) / "cache"), "can be written by everyone"));
}

// Catches another user who may write by an access control list, which the mode shows as rights of our own group.
TEST_CASE("folders above the cache with an access control list", "[cache]") {
  const TempFolder folder;
  const path parent = made(folder.path() / "parent", 0770);
  CHECK(objection(parent / "cache").empty());
  if (!let_a_stranger_write(parent)) MGEMM_SKIP("the file system has no access control lists");
  REQUIRE(mode_of(parent) == 0770);
  const std::string said = objection(parent / "cache");
  CHECK(contains(said, "access control list"));
  CHECK(contains(said, "setfacl -b '" + parent.string() + "'"));
  CHECK(objection(made(parent / "inner", 0700) / "cache").find("access control list") != std::string::npos);
  // Without the right to write for the group, its mask, the list lets nobody write.
  REQUIRE(chmod(parent.c_str(), 0750) == 0);
  CHECK(objection(parent / "cache").empty());
}

// Catches a home on another disk, reached by a link, that is refused; and a check of the link instead of its target.
TEST_CASE("links above the cache are followed once", "[cache]") {
  const TempFolder folder;
  made(folder.path() / "disk", 0755);
  std::filesystem::create_directory_symlink(folder.path() / "disk", folder.path() / "home");
  CHECK(objection(folder.path() / "home" / ".cache" / "mamba-gemm").empty());
  CHECK(std::filesystem::is_directory(folder.path() / "disk" / ".cache" / "mamba-gemm"));
  REQUIRE(chmod((folder.path() / "disk").c_str(), 0777) == 0);
  CHECK(contains(objection(folder.path() / "home" / ".cache" / "mamba-gemm"), (folder.path() / "disk").string()));
  std::filesystem::create_directory_symlink(folder.path() / "nowhere", folder.path() / "broken");
  CHECK(contains(objection(folder.path() / "broken" / "cache"), "is a link"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
}

// Catches a cache, or a folder above it, that another user or group owns.
TEST_CASE("folders of others", "[cache]") {
  if (geteuid() != 0) MGEMM_SKIP("needs root, to give folders to other users");
  const TempFolder folder;
  give_to(made(folder.path() / "leaf", 0700), stranger, 0);
  CHECK(contains(objection(folder.path() / "leaf"), "belongs to user 12345"));
  give_to(made(folder.path() / "parent", 0755), stranger, 0);
  CHECK(contains(objection(folder.path() / "parent" / "cache"), "belongs to user 12345"));
  give_to(made(folder.path() / "their-sticky", 01777), stranger, 0);
  CHECK(contains(objection(folder.path() / "their-sticky" / "cache"), "belongs to user 12345"));
  give_to(made(folder.path() / "their-group", 0775), 0, stranger);
  CHECK(contains(objection(folder.path() / "their-group" / "cache"), "can be written by group 12345"));
  give_to(made(folder.path() / "their-group-reads", 0755), 0, stranger);
  CHECK(objection(folder.path() / "their-group-reads" / "cache").empty());
  // 65534 stands for root only inside a user namespace.
  give_to(made(folder.path() / "nobody", 0755), 65534, 0);
  CHECK(contains(objection(folder.path() / "nobody" / "cache"), "belongs to user 65534"));

  // As an ordinary user: root's folders are fine, unless root's group may write to them.
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  give_to(made(folder.path() / "home", 0711), stranger, stranger);
  made(folder.path() / "root-group", 0775);
  give_to(made(folder.path() / "root-group" / "home", 0700), stranger, stranger);
  CHECK(in_fork([&] {
          if (!become(stranger)) return 98;
          if (!objection(folder.path() / "home" / ".cache" / "mamba-gemm").empty()) return 1;
          if (!contains(objection(folder.path() / "root-group" / "home" / "cache"), "can be written by group 0"))
            return 2;
          return 0;
        }) == 0);
}

// Catches containers without root, in which everything above the home belongs to the overflow user.
TEST_CASE("a user namespace", "[cache]") {
  if (geteuid() != 0) MGEMM_SKIP("needs root, to become another user");
  const TempFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  give_to(made(folder.path() / "home", 0755), stranger, stranger);
  constexpr int no_namespace = 77;
  const int code = in_fork([&] {
    if (!become(stranger) || unshare(CLONE_NEWUSER) != 0) return no_namespace;
    // Inside we are root, and the real root is nobody we know.
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", "0 12345 1") ||
        !write_text("/proc/self/gid_map", "0 12345 1")) {
      return no_namespace;
    }
    struct stat root {};
    if (geteuid() != 0 || stat("/", &root) != 0 || root.st_uid == 0) return no_namespace;
    return objection(folder.path() / "home" / "cache").empty() ? 0 : 1;
  });
  if (code == no_namespace) MGEMM_SKIP("user namespaces are not available");
  CHECK(code == 0);
}

// Catches a descriptor that is trusted although its folder has been opened to others or deleted.
TEST_CASE("a folder that changes is noticed", "[cache]") {
  const TempFolder folder;
  const path cache = made(folder.path() / "cache", 0700);
  const DirectoryResult result = open_private_directory(cache.string(), Creation::never);
  REQUIRE(result.directory);
  CHECK(is_still_private(*result.directory));
  REQUIRE(chmod(cache.c_str(), 0777) == 0);
  CHECK_FALSE(is_still_private(*result.directory));
  REQUIRE(chmod(cache.c_str(), 0700) == 0);
  CHECK(is_still_private(*result.directory));
  std::filesystem::remove_all(cache);
  CHECK_FALSE(is_still_private(*result.directory));
}

// Catches a reused descriptor number that is trusted because what it means now is private too.
TEST_CASE("a descriptor that means another folder is noticed", "[cache]") {
  const TempFolder folder;
  const DirectoryResult result = open_private_directory(made(folder.path() / "cache", 0700).string(), Creation::never);
  REQUIRE(result.directory);
  const os::Opened other = os::open_at(AT_FDCWD, made(folder.path() / "other", 0700), O_RDONLY | O_DIRECTORY);
  const os::Opened file = os::open_at(AT_FDCWD, folder.path() / "file", O_RDWR | O_CREAT, S_IRWXU);
  REQUIRE((other.file && file.file));
  for (const os::Opened* const now : {&other, &file}) {
    REQUIRE(dup2(now->file.get(), result.directory->descriptor()) >= 0);
    CHECK_FALSE(is_still_private(*result.directory));
  }
  close(result.directory->descriptor());  // which is no longer the folder's to close
}
