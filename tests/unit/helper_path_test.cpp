#include "compile/helper_path.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "support/acl.hpp"
#include "support/script.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace fs = std::filesystem;
using mgemm::HelperLocation;
using mgemm::test::write_bytes;
using mgemm::test::write_script;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// An installation of its own.
struct Installation {
  mgemm::test::TempFolder folder;
  fs::path root = folder.path();
  fs::path library = root / "lib" / "libmamba_gemm.so.0";
  std::map<std::string, std::string> variables;

  Installation() {
    fs::create_directories(library.parent_path());
    write_bytes(library, "library");
  }
  std::string program(const fs::path& where) const {
    fs::create_directories((root / where).parent_path());
    return write_script(root / where, "exit 0");
  }
  HelperLocation find() const {
    mgemm::SearchEnvironment environment;
    environment.own_file = library;
    environment.variable = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    return mgemm::find_helper(environment);
  }
};

}  // namespace

// Catches: a place that is forgotten, looked at under a wrong path or in the wrong order.
TEST_CASE("helper path: beside the library, then in libexec") {
  Installation installation;
  const HelperLocation none = installation.find();
  CHECK(none.path.empty());
  CHECK(contains(none.reason, (installation.root / "lib/mamba-gemm-assemble").string()));
  CHECK(contains(none.reason, (installation.root / "libexec/mamba-gemm/mamba-gemm-assemble").string()));
  CHECK(contains(none.reason, "MAMBA_GEMM_HELPER"));
  CHECK(none.reason.size() < 1000);

  const std::string libexec = installation.program("libexec/mamba-gemm/mamba-gemm-assemble");
  CHECK(installation.find().path == libexec);
  CHECK(installation.find().source == "libexec");
  const std::string beside = installation.program("lib/mamba-gemm-assemble");
  CHECK(installation.find().path == beside);
  CHECK(installation.find().source == "beside the library");
  CHECK(installation.find().reason.empty());

  fs::remove(beside);
  installation.library = installation.root / "lib/x86_64-linux-gnu/libmamba_gemm.so.0";
  fs::create_directories(installation.library.parent_path());
  CHECK(installation.find().path == libexec);
}

// Catches: a variable that is ignored, or that silently falls back to something else.
TEST_CASE("helper path: MAMBA_GEMM_HELPER alone decides") {
  Installation installation;
  const std::string beside = installation.program("lib/mamba-gemm-assemble");
  const std::string other = installation.program("mine/assembler");
  std::string& value = installation.variables["MAMBA_GEMM_HELPER"];
  CHECK(installation.find().path == beside);  // set to nothing is not set
  value = other;
  CHECK(installation.find().path == other);
  CHECK(installation.find().source == "MAMBA_GEMM_HELPER");
  fs::create_symlink(other, installation.root / "link");
  value = (installation.root / "link").string();
  CHECK(installation.find().path == other);
  for (const auto& [setting, reason] : std::map<std::string, std::string>{
           {"off", "MAMBA_GEMM_HELPER is 'off'"},
           {"lib/mamba-gemm-assemble", "neither an absolute path nor 'off'"},
           {"/nowhere/assembler", "No such file or directory"},
           {installation.root.string(), "is not a regular file"},
           {installation.library.string(), "is not executable"},
       }) {
    value = setting;
    const HelperLocation location = installation.find();
    CHECK(location.path.empty());
    CHECK(contains(location.reason, reason));
  }
}

// Catches: a program that others could put in our way.
TEST_CASE("helper path: what others may write is refused") {
  const Installation installation;
  const fs::path program = installation.program("lib/mamba-gemm-assemble");
  CHECK(installation.find().path == program);
  SECTION("by everybody") {
    fs::permissions(program, fs::perms(0757));
    CHECK(contains(installation.find().reason, "can be written by everyone"));
  }
  SECTION("by our own group") {
    fs::permissions(program, fs::perms(0775));
    CHECK(installation.find().path == program);
  }
  SECTION("folder by everybody") {
    fs::permissions(program.parent_path(), fs::perms(0777));
    CHECK(contains(installation.find().reason,
                   "its folder " + program.parent_path().string() + " can be written by everyone"));
    fs::permissions(program.parent_path(), fs::perms(01777));
    CHECK(installation.find().path == program);
  }
  SECTION("folder further up by everybody") {
    fs::permissions(installation.root, fs::perms(0777));
    CHECK(contains(installation.find().reason,
                   "its folder " + installation.root.string() + " can be written by everyone"));
    fs::permissions(installation.root, fs::perms(01777));
    CHECK(installation.find().path == program);
  }
  SECTION("by an access control list") {
    const std::array<fs::path, 3> files{program, program.parent_path(), installation.root};
    if (!mgemm::test::let_a_stranger_write(files.at(GENERATE(0U, 1U, 2U))))
      MGEMM_SKIP("the file system has no access control lists");
    CHECK(contains(installation.find().reason, "access control list"));
  }
  if (::geteuid() != 0) MGEMM_SKIP("other owners need root");
  SECTION("folder further up of another owner, unless the library is that user's too") {
    REQUIRE(::chown(installation.root.c_str(), 1234, 1234) == 0);
    CHECK(contains(installation.find().reason, "belongs to user 1234"));
    REQUIRE(::chown(installation.library.c_str(), 1234, 1234) == 0);
    CHECK(installation.find().path == program);
  }
  SECTION("by another group") {
    fs::permissions(program, fs::perms(0775));
    REQUIRE(::chown(program.c_str(), 0, 1234) == 0);
    CHECK(contains(installation.find().reason, "can be written by group 1234"));
  }
  SECTION("another owner, unless the library is that user's too") {
    REQUIRE(::chown(program.c_str(), 1234, 1234) == 0);
    CHECK(contains(installation.find().reason, "belongs to user 1234"));
    REQUIRE(::chown(installation.library.c_str(), 1234, 1234) == 0);
    CHECK(installation.find().path == program);
  }
}
