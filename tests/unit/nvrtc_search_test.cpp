#include "compile/nvrtc_search.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "compile/loader_path.hpp"
#include "compile/nvrtc_load.hpp"
#include "compile/nvrtc_table.hpp"
#include "fake_cuda/fake_nvrtc.hpp"
#include "support/raises.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace fs = std::filesystem;
using mgemm::NvrtcCandidate;
using mgemm::NvrtcLibrary;
using mgemm::NvrtcReport;
using mgemm::NvrtcVersion;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void copy_library(const std::string& fake, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy_file(fs::path(MGEMM_FAKE_LIBRARIES) / (fake + ".so"), to, fs::copy_options::overwrite_existing);
}

/// A machine of its own: nothing is set, mapped or installed until a test puts it there.
struct Machine {
  mgemm::test::TempFolder folder;
  fs::path root = folder.path();
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> loader;

  mgemm::SearchEnvironment environment() const {
    mgemm::SearchEnvironment result;
    result.variable = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    result.loader = [this](const std::string& name) {
      const auto found = loader.find(name);
      return found == loader.end() ? std::string() : found->second;
    };
    result.own_file = root / "site" / "mamba_gemm" / "libmamba_gemm.so";
    result.maps = root / "maps";
    result.toolkit = root / "toolkit";
    return result;
  }

  /// As a Python package has it: only the major number in the file name. "12_8" of major 12.
  fs::path package(const std::string& where, const std::string& version) const {
    const std::string major = version.substr(0, version.find('_'));
    std::string dotted = version;
    std::ranges::replace(dotted, '_', '.');
    const fs::path file = root / where / ("libnvrtc.so." + major);
    copy_library("nvrtc_" + version, file);
    copy_library("nvrtc_12_2", root / where / ("libnvrtc-builtins.so." + dotted));
    return file;
  }

  /// As the toolkit has it: a link to a file with the full version.
  fs::path toolkit(const std::string& where, const std::string& version) const {
    const fs::path link = package(where, version);
    std::string dotted = version;
    std::ranges::replace(dotted, '_', '.');
    const fs::path file = link.parent_path() / ("libnvrtc.so." + dotted + ".93");
    fs::rename(link, file);
    fs::create_symlink(file.filename(), link);
    return file;
  }

  /// The search; by names alone it must come to the same file first, and without opening any.
  NvrtcLibrary find(int driver_version = 0) const {
    const std::uint64_t loads = mgemm::nvrtc_loads();
    const std::optional<NvrtcCandidate> named = mgemm::nvrtc_by_name(environment(), driver_version);
    CHECK(mgemm::nvrtc_loads() == loads);
    NvrtcLibrary library = mgemm::find_nvrtc_in(environment(), driver_version);
    if (!named) return library;
    const auto same = std::ranges::find(library.report.candidates, named->path, &NvrtcCandidate::path);
    REQUIRE(same != library.report.candidates.end());
    CHECK(same->version == named->version);
    CHECK(same->builtins == named->builtins);
    CHECK(same->verdict.find("not needed") == std::string::npos);
    return library;
  }
};

const NvrtcCandidate& candidate_at(const NvrtcReport& report, const fs::path& path) {
  const auto found = std::ranges::find(report.candidates, path.string(), &NvrtcCandidate::path);
  REQUIRE(found != report.candidates.end());
  return *found;
}

}  // namespace

// Catches: an error that leaves the user without an idea where to put NVRTC.
TEST_CASE("nvrtc: with none anywhere the reason lists every source and a remedy") {
  const Machine machine;
  const NvrtcLibrary library = machine.find();
  CHECK(!library.report.available);
  for (const char* source : {"CUDA_HOME (not set)", "CUDA_PATH (not set)", "beside the library",
                             "VIRTUAL_ENV (not set)", "CONDA_PREFIX (not set)", "libraries already loaded",
                             "dynamic loader", "installed toolkit", "MAMBA_GEMM_NVRTC", "pip install"}) {
    CHECK(contains(library.report.reason, source));
  }
  CHECK(library.report.reason.size() < 2047);
}

// Catches: a source that is forgotten, or looked for under a wrong path.
TEST_CASE("nvrtc: each source alone is enough") {
  Machine machine;
  fs::path expected;
  std::string source;
  SECTION("CUDA_HOME lib64") {
    source = "CUDA_HOME";
    machine.variables[source] = (machine.root / "cuda").string();
    expected = machine.package("cuda/lib64", "13_0");
  }
  SECTION("CUDA_PATH lib") {
    source = "CUDA_PATH";
    machine.variables[source] = (machine.root / "cuda").string();
    expected = machine.package("cuda/lib", "12_8");
  }
  SECTION("CUDA_HOME targets") {
    source = "CUDA_HOME";
    machine.variables[source] = (machine.root / "cuda").string();
    expected = machine.package("cuda/targets/sbsa-linux/lib", "12_8");
  }
  SECTION("package beside the library") {
    source = "beside the library";
    expected = machine.package("site/nvidia/cuda_nvrtc/lib", "12_8");
  }
  SECTION("virtual environment") {
    source = "VIRTUAL_ENV";
    machine.variables[source] = (machine.root / "venv").string();
    expected = machine.package("venv/lib/python3.11/site-packages/nvidia/cu13/lib", "13_0");
  }
  SECTION("conda") {
    source = "CONDA_PREFIX";
    machine.variables[source] = (machine.root / "conda").string();
    expected = machine.package("conda/lib", "12_9");
  }
  SECTION("conda's site-packages") {
    source = "CONDA_PREFIX";
    machine.variables[source] = (machine.root / "conda").string();
    expected = machine.package("conda/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib", "12_9");
  }
  SECTION("beside a library that is mapped") {
    source = "libraries already loaded";
    expected = machine.package("opt/cuda/lib64", "12_8");
    std::ofstream(machine.root / "maps") << "7f00-7f01 r-xp 00000000 08:01 42   /usr/lib/libc.so.6\n"
                                         << "7f02-7f03 r-xp 00000000 08:01 43   "
                                         << (machine.root / "opt/cuda/lib64/libcublasLt.so.12").string() << '\n';
  }
  SECTION("package next to the package of a library that is mapped") {
    source = "libraries already loaded";
    expected = machine.package("env/nvidia/cuda_nvrtc/lib", "12_8");
    fs::create_directories(machine.root / "env/nvidia/cuda_runtime/lib");
    std::ofstream(machine.root / "maps") << "7f02-7f03 r-xp 00000000 08:01 43   "
                                         << (machine.root / "env/nvidia/cuda_runtime/lib/libcudart.so.12").string()
                                         << '\n';
  }
  SECTION("dynamic loader") {
    source = "dynamic loader";
    expected = machine.package("somewhere", "12_8");
    machine.loader["libnvrtc.so.12"] = expected.string();
  }
  SECTION("installed toolkit") {
    source = "installed toolkit";
    expected = machine.package("toolkit/lib64", "12_8");
  }
  const NvrtcLibrary library = machine.find();
  INFO(library.report.reason);
  REQUIRE(library.report.available);
  const std::optional<NvrtcCandidate> named = mgemm::nvrtc_by_name(machine.environment(), 0);
  REQUIRE(named);
  CHECK(named->path == expected.string());
  CHECK(named->builtins == library.table.files.builtins);
  CHECK(library.report.path == expected.string());
  CHECK(library.table.files.library == expected.string());
  CHECK(library.table.nvrtcGetPTX != nullptr);
  CHECK(candidate_at(library.report, expected).source == source);
  CHECK(candidate_at(library.report, expected).verdict == "serves");
}

// Catches: a mapping that was deleted, or that only looks like NVIDIA's, followed.
TEST_CASE("nvrtc: deleted and foreign mappings are no source") {
  const Machine machine;
  machine.package("gone", "12_8");
  machine.package("other", "12_8");
  std::ofstream(machine.root / "maps") << "7f02-7f03 r-xp 00000000 08:01 43   "
                                       << (machine.root / "gone/libcudart.so.12").string() << " (deleted)\n"
                                       << "7f02-7f03 r-xp 00000000 08:01 43   "
                                       << (machine.root / "other/libmycudart.so.12").string() << '\n';
  CHECK(!machine.find().report.available);
}

// Catches: PTX the driver cannot read (UNSUPPORTED_PTX_VERSION at load), or an old NVRTC where a newer one would do.
TEST_CASE("nvrtc: the newest version that is not newer than the driver serves") {
  Machine machine;
  machine.variables["CUDA_HOME"] = (machine.root / "a").string();
  machine.variables["CUDA_PATH"] = (machine.root / "b").string();
  machine.variables["CONDA_PREFIX"] = (machine.root / "c").string();
  const fs::path v12_3 = machine.toolkit("a/lib64", "12_3");
  const fs::path v13_0 = machine.package("b/lib64", "13_0");
  const fs::path v12_8 = machine.toolkit("c/lib", "12_8");
  const fs::path v12_2 = machine.toolkit("toolkit/lib64", "12_2");

  const NvrtcReport any = machine.find(0).report;
  CHECK(any.path == v13_0.string());
  CHECK(any.version == NvrtcVersion{13, 0});
  CHECK(contains(candidate_at(any, v12_8).verdict, "not needed"));
  CHECK(contains(candidate_at(any, v12_2).verdict, "older than 12.3"));

  const NvrtcReport up_to_12_9 = machine.find(12090).report;
  CHECK(up_to_12_9.path == v12_8.string());
  CHECK(contains(candidate_at(up_to_12_9, v13_0).verdict, "newer than the driver, which takes up to 12.9"));
  CHECK(machine.find(12080).report.path == v12_8.string());
  CHECK(machine.find(12040).report.path == v12_3.string());
  CHECK(machine.find(13000).report.path == v13_0.string());

  fs::remove(v12_3);
  // Nothing the driver can read PTX of, but machine code of its major version.
  const NvrtcReport newer = machine.find(12040).report;
  CHECK(newer.path == v12_8.string());
  CHECK(contains(candidate_at(newer, v12_8).verdict, "machine code alone"));
  const auto by_name = mgemm::nvrtc_by_name(machine.environment(), 12040);
  REQUIRE(by_name);
  CHECK(by_name->path == v12_8.string());
  fs::remove(v12_8);
  const NvrtcReport none = machine.find(12040).report;
  CHECK(!none.available);
  CHECK(contains(none.reason, "newer than the driver"));
}

// Catches: an order that depends on the file system, or a later place preferred.
TEST_CASE("nvrtc: the earlier place wins among equal versions, and one file is listed once") {
  Machine machine;
  machine.variables["CUDA_HOME"] = (machine.root / "a").string();
  machine.variables["CUDA_PATH"] = (machine.root / "a").string();
  const fs::path first = machine.package("a/lib", "12_8");
  const fs::path second = machine.package("toolkit/lib64", "12_8");
  fs::create_directory_symlink("lib", machine.root / "a/lib64");
  const NvrtcReport report = machine.find().report;
  CHECK(report.path == first.string());
  CHECK(report.candidates.size() == 2);
  CHECK(candidate_at(report, first).source == "CUDA_HOME");
  CHECK(contains(candidate_at(report, second).verdict, "not needed"));
}

// Catches: a failure at the first compile instead of here.
TEST_CASE("nvrtc: without its builtins a candidate is none") {
  Machine machine;
  machine.variables["CUDA_HOME"] = (machine.root / "a").string();
  const fs::path named = machine.toolkit("a/lib64", "13_0");
  fs::remove(machine.root / "a/lib64/libnvrtc-builtins.so.13.0");
  const fs::path unnamed = machine.package("toolkit/lib64", "12_8");
  fs::remove(machine.root / "toolkit/lib64/libnvrtc-builtins.so.12.8");
  const NvrtcReport report = machine.find().report;
  CHECK(!report.available);
  CHECK(candidate_at(report, named).verdict == "libnvrtc-builtins.so.13.0 is missing from its folder");
  CHECK(contains(candidate_at(report, unnamed).verdict, "no libnvrtc-builtins.so.*"));
  CHECK(contains(report.reason, "libnvrtc-builtins.so.13.0 is missing"));
}

// Catches: a folder with two versions taken for the wrong one.
TEST_CASE("nvrtc: where names leave the version open the library is asked") {
  const Machine machine;
  const fs::path file = machine.package("toolkit/lib64", "12_9");
  machine.package("scratch", "12_8");
  fs::rename(machine.root / "scratch/libnvrtc-builtins.so.12.8",
             machine.root / "toolkit/lib64/libnvrtc-builtins.so.12.8");
  CHECK(!mgemm::nvrtc_by_name(machine.environment(), 0));
  const NvrtcReport report = machine.find().report;
  CHECK(report.path == file.string());
  CHECK(report.version == NvrtcVersion{12, 9});
  CHECK(contains(candidate_at(report, file).builtins, "libnvrtc-builtins.so.12.9"));
}

// Catches: an incomplete, foreign or mislabelled library taken, or the next best not tried.
TEST_CASE("nvrtc: what does not load is passed over with a verdict") {
  Machine machine;
  machine.variables["CUDA_HOME"] = (machine.root / "a").string();
  const fs::path good = machine.package("toolkit/lib64", "12_8");
  const fs::path bad = machine.package("a/lib64", "13_0");
  std::string verdict;
  SECTION("missing symbol") {
    copy_library("nvrtc_incomplete", bad);
    verdict = "lacks nvrtcGetPTX";
  }
  SECTION("another version than its name says") {
    copy_library("nvrtc_12_8", bad);
    verdict = "says it is 12.8, its name says 13.0";
  }
  SECTION("no library at all") {
    std::ofstream(bad) << "text";
    verdict = "could not be opened";
  }
  SECTION("broken builtins") {
    std::ofstream(machine.root / "a/lib64/libnvrtc-builtins.so.13.0") << "text";
    verdict = "its builtins could not be opened";
  }
  const NvrtcReport report = machine.find().report;
  CHECK(contains(candidate_at(report, bad).verdict, verdict));
  CHECK(report.path == good.string());
}

// Catches: the toolkit's second build chosen.
TEST_CASE("nvrtc: .alt files are ignored") {
  const Machine machine;
  const fs::path file = machine.package("toolkit/lib64", "13_0");
  fs::rename(file, file.parent_path() / "libnvrtc.alt.so.13");
  CHECK(machine.find().report.candidates.empty());
  fs::create_symlink("libnvrtc.alt.so.13", file);
  CHECK(machine.find().report.candidates.empty());
}

// Catches: an override that is silently ignored, or silently replaced by something else.
TEST_CASE("nvrtc: MAMBA_GEMM_NVRTC alone decides") {
  Machine machine;
  const fs::path other = machine.package("toolkit/lib64", "13_0");
  const fs::path wanted = machine.package("mine", "12_8");
  std::string& value = machine.variables["MAMBA_GEMM_NVRTC"];
  SECTION("file") {
    value = wanted.string();
    CHECK(machine.find().report.path == wanted.string());
  }
  SECTION("file of any name") {
    fs::rename(wanted, machine.root / "mine/nvrtc-of-mine.so");
    value = (machine.root / "mine/nvrtc-of-mine.so").string();
    CHECK(machine.find().report.path == value);
  }
  SECTION("folder") {
    value = wanted.parent_path().string();
    const NvrtcReport report = machine.find().report;
    CHECK(report.path == wanted.string());
    CHECK(report.candidates.size() == 1);
    CHECK(report.candidates[0].source == "MAMBA_GEMM_NVRTC");
  }
  SECTION("empty is not set") { CHECK(machine.find().report.path == other.string()); }
  SECTION("missing") {
    value = (machine.root / "nowhere").string();
    const NvrtcReport report = machine.find().report;
    CHECK(!report.available);
    CHECK(contains(report.reason, "MAMBA_GEMM_NVRTC is '" + value + "', which does not exist"));
    CHECK(contains(report.reason, "Nothing else is tried"));
  }
  SECTION("folder without it") {
    value = machine.root.string();
    CHECK(contains(machine.find().report.reason, "holds neither"));
  }
  SECTION("incomplete") {
    copy_library("nvrtc_incomplete", machine.root / "mine/libnvrtc.so.13");
    copy_library("nvrtc_12_2", machine.root / "mine/libnvrtc-builtins.so.13.0");
    value = (machine.root / "mine/libnvrtc.so.13").string();
    const NvrtcReport report = machine.find().report;
    CHECK(!report.available);
    CHECK(contains(report.reason, "lacks nvrtcGetPTX"));
  }
  SECTION("newer than the driver") {
    value = wanted.string();
    const NvrtcReport report = machine.find(11080).report;
    CHECK(!report.available);
    CHECK(contains(report.reason, "newer than the driver"));
  }
  SECTION("newer than the driver, of its major version") {
    value = wanted.string();
    const NvrtcReport report = machine.find(12030).report;
    CHECK(report.path == wanted.string());
    CHECK(contains(candidate_at(report, wanted).verdict, "machine code alone"));
  }
}

// Catches: a substitute that is not used, or an absence that is not an error with the reason.
TEST_CASE("nvrtc: substitutes, present and absent") {
  {
    const mgemm::fake::Nvrtc fake;
    CHECK(mgemm::nvrtc(0).files == mgemm::fake::Nvrtc::table().files);
    CHECK(mgemm::nvrtc_report(0).version == NvrtcVersion{13, 0});
  }
  NvrtcLibrary absent;
  absent.report.reason = "not anywhere";
  mgemm::substitute_nvrtc(&absent);
  CHECK(mgemm::find_nvrtc(0) == nullptr);
  const mgemm::Error error = mgemm::test::error_of([] { mgemm::nvrtc(0); });
  mgemm::substitute_nvrtc(nullptr);
  CHECK(error.status() == MGEMM_NO_COMPILER);
  CHECK(std::string(error.what()) == "not anywhere");
}

// Catches: a race in the first search, and a machine's NVRTC that is there and not found.
TEST_CASE("nvrtc: this machine's is found, once, by eight threads") {
  std::array<const mgemm::NvrtcTable*, 8> answers{};
  {
    std::vector<std::jthread> threads;
    for (const mgemm::NvrtcTable*& answer : answers) threads.emplace_back([&answer] { answer = mgemm::find_nvrtc(0); });
  }
  for (const mgemm::NvrtcTable* answer : answers) CHECK(answer == answers[0]);
  const NvrtcReport& report = mgemm::nvrtc_report(0);
  INFO(report.reason);
  const bool installed =
      fs::exists("/usr/local/cuda/lib64/libnvrtc.so.13") || fs::exists("/usr/local/cuda/lib64/libnvrtc.so.12");
  if (installed && std::getenv("MAMBA_GEMM_NVRTC") == nullptr) CHECK(report.available);
  if (!report.available) MGEMM_SKIP("no NVRTC on this machine");
  CHECK(answers[0]->files.library == report.path);
  CHECK(answers[0]->version >= mgemm::oldest_nvrtc);
  const auto serving = std::ranges::count(report.candidates, std::string("serves"), &NvrtcCandidate::verdict);
  CHECK(serving == 1);
  for (const NvrtcCandidate& candidate : report.candidates) {
    std::printf("%s (%s, %s): %s\n", candidate.path.c_str(), candidate.source.c_str(),
                to_string(candidate.version).c_str(), candidate.verdict.c_str());
  }
}

// Catches: another file than the dynamic loader would open, or one opened to find out.
TEST_CASE("nvrtc: where the dynamic loader finds libraries, without loading them") {
  CHECK(mgemm::path_by_loader("libno-such-library.so.1").empty());
  int found = 0;
  for (const char* name : {"libc.so.6", "libthread_db.so.1", "libBrokenLocale.so.1", "libanl.so.1"}) {
    const bool loaded_before = dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != nullptr;
    const std::string path = mgemm::path_by_loader(name);
    CHECK((dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != nullptr) == loaded_before);
    void* const handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    link_map* map = nullptr;
    // A file may be there and not load.
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
    ++found;
    CHECK(fs::canonical(path) == fs::canonical(map->l_name));
  }
  CHECK(found >= 1);
}

// Catches: a damaged loader's cache that is read past its end.
TEST_CASE("nvrtc: the loader's cache, whole and damaged") {
  std::ifstream file("/etc/ld.so.cache", std::ios::binary);
  const std::string cache{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (cache.empty()) MGEMM_SKIP("no loader's cache on this machine");
  const std::string path = mgemm::path_in_loader_cache(cache, "libc.so.6");
  CHECK(fs::exists(path));
  CHECK(mgemm::path_in_loader_cache("", "libc.so.6").empty());
  CHECK(mgemm::path_in_loader_cache(cache, "libno-such-library.so.1").empty());
  for (std::size_t size = 0; size < cache.size(); size += 1 + size / 16) {
    const std::string found = mgemm::path_in_loader_cache(cache.substr(0, size), "libc.so.6");
    CHECK((found.empty() || found == path));
  }
  const std::size_t header = cache.find("glibc-ld.so.cache1.1");
  if (header == std::string::npos) return;
  for (std::size_t at = header; at < std::min(cache.size(), header + 1000); ++at) {
    std::string damaged = cache;
    damaged[at] = '\xff';
    mgemm::path_in_loader_cache(damaged, "libc.so.6");
  }
}
