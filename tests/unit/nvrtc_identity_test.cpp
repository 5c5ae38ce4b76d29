#include "compile/nvrtc_identity.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "compile/nvrtc_load.hpp"
#include "compile/nvrtc_mapped.hpp"
#include "support/environment.hpp"
#include "support/raises.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace fs = std::filesystem;
using mgemm::Digest;
using mgemm::FileStamp;
using mgemm::NvrtcContent;
using mgemm::NvrtcFiles;
using mgemm::NvrtcVariables;
using mgemm::OutputKind;
using mgemm::test::error_of;
using mgemm::test::write_bytes;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* library_name = "libnvrtc.so.99";  // a version that nothing else in this process is
constexpr const char* builtins_name = "libnvrtc-builtins.so.99.0";

/// Two files that stand for an NVRTC.
struct Files {
  mgemm::test::TempFolder folder;
  fs::path library = folder.path() / "a" / library_name;
  fs::path builtins = folder.path() / "a" / builtins_name;

  Files() {
    fs::create_directory(folder.path() / "a");
    write_bytes(library, "library 1");
    write_bytes(builtins, "builtins 1");
  }
  NvrtcFiles look() const { return mgemm::nvrtc_files(library.string(), builtins.string()); }
};

/// Writes other bytes of the same size under the same name and gives them the times of the old ones.
void replace_unnoticeably(const fs::path& path, const std::string& bytes) {
  struct stat before {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  const fs::path fresh = path.parent_path() / "fresh";
  write_bytes(fresh, bytes);
  fs::rename(fresh, path);
  const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

/// A file mapped into this process, as a library is.
class Mapped {
 public:
  explicit Mapped(const fs::path& path) {
    const mgemm::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    page_ = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file.get(), 0);
    REQUIRE(page_ != MAP_FAILED);
  }
  ~Mapped() { ::munmap(page_, 1); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  Mapped(Mapped&&) = delete;
  Mapped& operator=(Mapped&&) = delete;

  const void* page() const { return page_; }

 private:
  void* page_;
};

NvrtcContent some_content() { return {{13, 0}, mgemm::sha256("library"), mgemm::sha256("builtins")}; }

Digest identity(const NvrtcContent& content = some_content(), const std::string& target = "sm_90a",
                const std::vector<std::string>& options = {"--a", "--b"}, OutputKind output = OutputKind::machine_code,
                const NvrtcVariables& variables = {}) {
  return mgemm::compiler_identity(content.version, content, target, options, output, variables).digest();
}

}  // namespace

// Catches: anything that decides the output left out of the identity, options taken as a set, absent as empty.
TEST_CASE("nvrtc identity: every part and the order of the options count") {
  NvrtcContent version = some_content();
  version.version.minor = 1;
  NvrtcContent library = some_content();
  library.library.bytes[31] ^= 1;
  NvrtcContent builtins = some_content();
  builtins.builtins.bytes[0] ^= 1;
  const std::vector<std::string> options{"--a", "--b"};
  const std::vector<Digest> all{
      identity(),
      identity(version),
      identity(library),
      identity(builtins),
      identity(some_content(), "sm_90"),
      identity(some_content(), "sm_90a", {"--b", "--a"}),
      identity(some_content(), "sm_90a", {"--a"}),
      identity(some_content(), "sm_90a", {"--a", "--b", "--b"}),
      identity(some_content(), "sm_90a", {"--a--b"}),
      identity(some_content(), "sm_90a", options, OutputKind::ptx),
      identity(some_content(), "sm_90a", options, OutputKind::machine_code, {"", {}}),
      identity(some_content(), "sm_90a", options, OutputKind::machine_code, {"-lineinfo", {}}),
      identity(some_content(), "sm_90a", options, OutputKind::machine_code, {{}, "-lineinfo"}),
  };
  std::set<std::string> different;
  for (const Digest& digest : all) different.insert(to_hex(digest));
  CHECK(different.size() == all.size());
  CHECK(identity() == identity());
}

// Catches: a path or a time in the identity, so that moving NVRTC is a miss.
TEST_CASE("nvrtc identity: neither place nor time of the files enters") {
  const Files files;
  const NvrtcContent here = mgemm::hash_nvrtc(files.look(), {13, 0});
  const fs::path elsewhere = files.folder.path() / "b";
  fs::create_directory(elsewhere);
  fs::copy_file(files.library, elsewhere / library_name);
  fs::copy_file(files.builtins, elsewhere / builtins_name);
  const NvrtcFiles moved =
      mgemm::nvrtc_files((elsewhere / library_name).string(), (elsewhere / builtins_name).string());
  CHECK(identity(mgemm::hash_nvrtc(moved, {13, 0})) == identity(here));
  CHECK(here.library == mgemm::sha256("library 1"));
  CHECK(here.builtins == mgemm::sha256("builtins 1"));
}

// Catches: a variable of another spelling, or one that is set to nothing taken as not set.
TEST_CASE("nvrtc identity: what NVRTC takes from the environment") {
  CHECK(mgemm::nvrtc_variables() == NvrtcVariables{});
  for (const char* name : {"NVRTC_APPEND_FLAGS", "NV_NVVM_VERSION"}) {
    const auto value = [name] {
      const NvrtcVariables now = mgemm::nvrtc_variables();
      return std::string_view(name) == "NV_NVVM_VERSION" ? now.nvvm_version : now.append_flags;
    };
    {
      const mgemm::test::Variable empty(name, "");
      CHECK(value() == "");
    }
    const mgemm::test::Variable set(name, "-lineinfo");
    CHECK(value() == "-lineinfo");
  }
  CHECK(mgemm::nvrtc_variables() == NvrtcVariables{});
}

// Catches: a replaced file that looks like the old one.
TEST_CASE("nvrtc identity: a file replaced by one of the same size and times has another stamp") {
  const Files files;
  const NvrtcFiles before = files.look();
  CHECK(files.look().library_stamp == before.library_stamp);
  replace_unnoticeably(files.library, "library 2");
  const NvrtcFiles after = files.look();
  CHECK(after.library_stamp.size == before.library_stamp.size);
  CHECK(after.library_stamp.mtime_ns == before.library_stamp.mtime_ns);
  CHECK(after.library_stamp != before.library_stamp);
  CHECK(after.builtins_stamp == before.builtins_stamp);
  CHECK(stamp_key(after) != stamp_key(before));
  CHECK(!contains(stamp_key(before), files.folder.path().string()));
  CHECK_THROWS_AS(mgemm::hash_nvrtc(before, {13, 0}), mgemm::Error);
  CHECK_NOTHROW(mgemm::hash_nvrtc(after, {13, 0}));
}

// Catches: a memo that comes back changed, or is taken from damaged bytes.
TEST_CASE("nvrtc identity: memo there and back, and nothing but a whole one") {
  const Files files;
  const NvrtcFiles look = files.look();
  const std::string memo = mgemm::encode_memo(look, some_content());
  CHECK(mgemm::decode_memo(memo, look) == some_content());
  for (std::size_t size = 0; size < memo.size(); ++size) CHECK(!mgemm::decode_memo(memo.substr(0, size), look));
  for (std::size_t at = 0; at < memo.size(); ++at) {
    std::string damaged = memo;
    damaged[at] ^= 0x20;
    CHECK(!mgemm::decode_memo(damaged, look));
  }
  CHECK(!mgemm::decode_memo(memo + '\0', look));
}

// Catches: a memo that outlives its files; a field of the stamp that is not compared.
TEST_CASE("nvrtc identity: a memo of files that look different is none") {
  const Files files;
  const NvrtcFiles look = files.look();
  const std::string memo = mgemm::encode_memo(look, some_content());
  for (FileStamp NvrtcFiles::*which : {&NvrtcFiles::library_stamp, &NvrtcFiles::builtins_stamp}) {
    std::array<NvrtcFiles, 5> others{look, look, look, look, look};
    (others[0].*which).build_id = "00";
    ++(others[1].*which).size;
    ++(others[2].*which).mtime_ns;
    ++(others[3].*which).ctime_ns;
    ++(others[4].*which).inode;
    for (const NvrtcFiles& other : others) {
      CHECK(!mgemm::decode_memo(memo, other));
      CHECK(stamp_key(other) != stamp_key(look));
    }
  }
  NvrtcFiles elsewhere = look;
  elsewhere.library = "/elsewhere";
  CHECK(mgemm::decode_memo(memo, elsewhere) == some_content());
}

// Catches: a memo kept of a file that may still change without its stamp changing.
TEST_CASE("nvrtc identity: a memo of files younger than the clock can tell is not to be kept") {
  const Files files;
  const NvrtcFiles look = files.look();
  const std::int64_t changed = std::max(look.library_stamp.ctime_ns, look.builtins_stamp.ctime_ns);
  CHECK(!mgemm::memo_may_be_kept(look, changed));
  CHECK(!mgemm::memo_may_be_kept(look, changed + 1'999'999'999));
  CHECK(mgemm::memo_may_be_kept(look, changed + 2'000'000'000));
}

// Catches: a missing file or a folder that is no error, or one without a name.
TEST_CASE("nvrtc identity: files that cannot be read") {
  const Files files;
  const std::string missing = (files.folder.path() / "missing").string();
  for (const mgemm::Error& error :
       {error_of([&] { mgemm::stamp_file(missing); }), error_of([&] { mgemm::file_sha256(missing); }),
        error_of([&] { mgemm::same_content(files.library.string(), missing); })}) {
    CHECK(error.status() == MGEMM_IO);
    CHECK(contains(error.what(), missing));
  }
  CHECK(error_of([&] { mgemm::stamp_file(files.folder.path().string()); }).status() == MGEMM_IO);
}

// Catches: a last piece that is lost, or a prefix taken for equal.
TEST_CASE("nvrtc identity: files of every size around a piece") {
  const mgemm::test::TempFolder folder;
  const std::string one = (folder.path() / "one").string();
  const std::string other = (folder.path() / "other").string();
  for (const std::size_t piece : {std::size_t{65536}, std::size_t{1} << 20U}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 2 * piece}) {
      std::string bytes(size, 'x');
      write_bytes(one, bytes);
      write_bytes(other, bytes);
      CHECK(mgemm::file_sha256(one) == mgemm::sha256(bytes));
      CHECK(mgemm::same_content(one, other));
      write_bytes(other, bytes + 'y');
      CHECK(!mgemm::same_content(one, other));
      CHECK(!mgemm::same_content(other, one));
      if (size == 0) continue;
      bytes.back() = 'z';
      write_bytes(other, bytes);
      CHECK(!mgemm::same_content(one, other));
    }
  }
}

// Catches: damaged libraries that are read past their end.
TEST_CASE("nvrtc identity: build-ids of libraries, whole and cut off") {
  const mgemm::test::TempFolder folder;
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes(std::size_t{1} << 16U, '\0');
  self.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::string whole = mgemm::stamp_file("/proc/self/exe").build_id;
  const std::string path = (folder.path() / "file").string();
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{63}, std::size_t{64}, std::size_t{200},
                                 std::size_t{500}, std::size_t{1000}, bytes.size()}) {
    write_bytes(path, bytes.substr(0, size));
    const std::string id = mgemm::stamp_file(path).build_id;
    CHECK((id.empty() || id == whole));
  }
  CHECK((whole.empty() || whole.size() >= 16));
}

// Catches: this machine's NVRTC looked at in another way than the tools', a warm start that hashes or loads.
TEST_CASE("nvrtc identity: this machine's NVRTC, cold and from a memo") {
  const std::uint64_t loads = mgemm::nvrtc_loads();
  const auto candidate = mgemm::nvrtc_by_name(mgemm::process_environment(), 0);
  if (!candidate) MGEMM_SKIP("no NVRTC on this machine");
  const NvrtcFiles files = mgemm::nvrtc_files(candidate->path, candidate->builtins);
  CHECK(files.library_stamp.size == fs::file_size(candidate->path));
  CHECK(files.library_stamp.build_id.size() == 40);
  const std::uint64_t hashes = mgemm::nvrtc_hashes();
  const auto start = std::chrono::steady_clock::now();
  const NvrtcContent content = mgemm::hash_nvrtc(files, candidate->version);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  CHECK(mgemm::nvrtc_hashes() == hashes + 2);
  const std::string memo = mgemm::encode_memo(files, content);

  const auto warm_start = std::chrono::steady_clock::now();
  const auto again = mgemm::nvrtc_by_name(mgemm::process_environment(), 0);
  REQUIRE(again);
  CHECK(mgemm::decode_memo(memo, mgemm::nvrtc_files(again->path, again->builtins)) == content);
  const std::chrono::duration<double> warm_seconds = std::chrono::steady_clock::now() - warm_start;
  CHECK(mgemm::nvrtc_hashes() == hashes + 2);
  CHECK(mgemm::nvrtc_loads() == loads);
  std::printf("NVRTC hashed in %.3f s, found and looked at in %.6f s, memo of %zu bytes\n", seconds.count(),
              warm_seconds.count(), memo.size());
}

// Catches: a file replaced under the process, by an upgrade of NVRTC, that goes unnoticed.
TEST_CASE("nvrtc identity: files that are not the ones looked at or mapped") {
  const Files files;
  const NvrtcFiles look = files.look();
  CHECK(mgemm::reason_not_to_keep(look).empty());
  SECTION("replaced since it was looked at") {
    const fs::path which = GENERATE(true, false) ? files.library : files.builtins;
    replace_unnoticeably(which, which == files.library ? "library 2" : "builtins 2");
    CHECK(
        contains(mgemm::reason_not_to_keep(look), which.string() + " was changed or replaced since it was looked at"));
  }
  SECTION("gone") {
    fs::remove(files.library);
    CHECK(contains(mgemm::reason_not_to_keep(look), files.library.string()));
  }
  SECTION("mapped, and still the same") {
    const Mapped library(files.library);
    const Mapped builtins(files.builtins);
    CHECK(mgemm::reason_not_to_keep(look).empty());
  }
  SECTION("replaced before it was looked at, but mapped before that") {
    const fs::path which = GENERATE(true, false) ? files.library : files.builtins;
    const Mapped mapped(which);
    replace_unnoticeably(which, which == files.library ? "library 2" : "builtins 2");
    CHECK(mgemm::reason_not_to_keep(files.look()) == which.string() + " was replaced since this process mapped it");
  }
  SECTION("in use, and moved away for another") {
    const Mapped mapped(files.library);
    CHECK(mgemm::reason_not_to_keep(files.look(), mapped.page()).empty());
    fs::rename(files.library, files.folder.path() / "old");
    write_bytes(files.library, "library 2");
    CHECK(contains(mgemm::reason_not_to_keep(files.look(), mapped.page()), "is no longer the file"));
  }
}

// Catches: another builtins library in the process (PyTorch's, CuPy's) that NVRTC may be using, overlooked; or an equal
// one that turns the cache off.
TEST_CASE("nvrtc identity: other builtins of the same name are compared by content") {
  const Files files;
  const fs::path folder = files.folder.path() / "other folder";
  fs::create_directory(folder);
  fs::path other = folder / builtins_name;
  std::string reason;
  SECTION("equal") { write_bytes(other, "builtins 1"); }
  SECTION("different") {
    write_bytes(other, "builtins 2");
    reason = "differs from";
  }
  SECTION("different, its full version in the name") {
    other += ".88";
    write_bytes(other, "builtins 2");
    reason = "differs from";
  }
  SECTION("of another version") {
    other = folder / "libnvrtc-builtins.so.99.01";
    write_bytes(other, "builtins 2");
  }
  SECTION("of another NVRTC") {
    other = folder / library_name;
    write_bytes(other, "library 2");
  }
  {
    const Mapped mapped(other);
    CHECK(contains(mgemm::reason_not_to_keep(files.look()), reason));
    CHECK(mgemm::reason_not_to_keep(files.look()).empty() == reason.empty());
    if (other.filename() == builtins_name) {
      fs::remove(other);
      CHECK(contains(mgemm::reason_not_to_keep(files.look()), "cannot be compared"));
    }
  }
  CHECK(mgemm::reason_not_to_keep(files.look()).empty());
}
