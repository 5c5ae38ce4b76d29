// What of a device is part of its identity, and which build of the driver it is.
#include "device/device_identity.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compile/file_stamp.hpp"
#include "device/driver_build.hpp"
#include "fake_cuda/fake_driver.hpp"
#include "mamba_gemm/mamba_gemm.h"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;
using std::filesystem::path;

DeviceFacts board() {
  DeviceFacts facts;
  facts.kind = MGEMM_DEVICE_CUDA;
  facts.compute_major = 9;
  facts.multiprocessors = 132;
  facts.driver_version = 13000;
  facts.shared_bytes_per_block = 232448;
  facts.memory_bytes = 141;
  facts.l2_bytes = 60;
  facts.driver_build = {"580.95.05", "0123abcd"};
  facts.name = "NVIDIA H200";
  return facts;
}

DeviceFacts reference() {
  DeviceFacts facts;
  facts.kind = MGEMM_DEVICE_REFERENCE;
  facts.compute_major = 9;
  facts.multiprocessors = 8;
  facts.name = "reference";
  return facts;
}

struct Change {
  const char* what;
  void (*make)(DeviceFacts& facts);
};

std::string digest_of(const DeviceFacts& facts) { return to_hex(device_identity(facts).digest()); }

std::string digest_after(DeviceFacts facts, const Change& change) {
  change.make(facts);
  return digest_of(facts);
}

/// A library under a name of its own, opened.
class OpenLibrary {
 public:
  OpenLibrary(const path& from, path to) : file_(std::move(to)) {
    std::filesystem::copy_file(from, file_);
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
  }
  ~OpenLibrary() { dlclose(handle_); }
  OpenLibrary(const OpenLibrary&) = delete;
  OpenLibrary& operator=(const OpenLibrary&) = delete;
  OpenLibrary(OpenLibrary&&) = delete;
  OpenLibrary& operator=(OpenLibrary&&) = delete;

  const path& file() const { return file_; }
  DriverBuild build() const { return build_of_driver(dlsym(handle_, "cuDriverGetVersion")); }

 private:
  path file_;
  void* handle_ = nullptr;
};

const path fake_driver = path(MGEMM_FAKE_LIBRARIES) / "driver_12_4.so";

}  // namespace

// Catches a fact that could change how products are computed and is left out, or is taken for another one.
TEST_CASE("every fact that matters changes the device's identity") {
  // Whoever adds a fact has to say here, by this failing to compile, which of the two lists it belongs to.
  [[maybe_unused]] const auto& [kind, ordinal, major, minor, multiprocessors, driver_version, shared, memory, l2, maps,
                                driver, uuid, name] = board();
  constexpr Change changes[] = {
      {"kind", [](DeviceFacts& f) { f.kind = MGEMM_DEVICE_REFERENCE; }},
      {"compute_major", [](DeviceFacts& f) { f.compute_major = 8; }},
      {"compute_minor", [](DeviceFacts& f) { f.compute_minor = 8; }},
      {"multiprocessors", [](DeviceFacts& f) { f.multiprocessors = 114; }},
      {"shared_bytes_per_block", [](DeviceFacts& f) { f.shared_bytes_per_block = 114; }},
      {"tensor_maps", [](DeviceFacts& f) { f.tensor_maps = true; }},
      {"driver_build.version", [](DeviceFacts& f) { f.driver_build.version = "x"; }},
      {"driver_build.version unknown", [](DeviceFacts& f) { f.driver_build.version.clear(); }},
      {"driver_build.build_id", [](DeviceFacts& f) { f.driver_build.build_id = "x"; }},
      {"driver_build.build_id unknown", [](DeviceFacts& f) { f.driver_build.build_id.clear(); }},
      {"name", [](DeviceFacts& f) { f.name = "x"; }},
  };
  std::set<std::string> digests{digest_of(board())};
  for (const Change& change : changes) {
    CAPTURE(change.what);
    CHECK(digests.insert(digest_after(board(), change)).second);
  }
  CHECK(digest_after(reference(), {"name", [](DeviceFacts& f) { f.name = "x"; }}) != digest_of(reference()));
  CHECK(digest_after(reference(), {"profile", [](DeviceFacts& f) { f.compute_minor = 1; }}) != digest_of(reference()));
}

// Catches identities that differ between equal boards, or between hosts for the reference device.
TEST_CASE("which board or host it is does not change the device's identity") {
  constexpr Change changes[] = {
      {"uuid", [](DeviceFacts& f) { f.uuid[3] = 1; }},
      {"ordinal", [](DeviceFacts& f) { f.ordinal = 1; }},
      {"memory_bytes", [](DeviceFacts& f) { f.memory_bytes = 80; }},
      {"l2_bytes", [](DeviceFacts& f) { f.l2_bytes = 50; }},
      {"driver_version", [](DeviceFacts& f) { f.driver_version = 12080; }},  // a name for some builds, not the build
  };
  for (const Change& change : changes) {
    CAPTURE(change.what);
    CHECK(digest_after(board(), change) == digest_of(board()));
    CHECK(digest_after(reference(), change) == digest_of(reference()));
  }
  CHECK(digest_after(reference(), {"threads", [](DeviceFacts& f) { f.multiprocessors = 3; }}) ==
        digest_of(reference()));
  CHECK(digest_of(make_reference_device(MGEMM_PROFILE_SM90, 1)->facts()) ==
        digest_of(make_reference_device(MGEMM_PROFILE_SM90, 7)->facts()));
}

// Catches a driver that is told apart by its supported CUDA version only, by a link's name, or by another library.
TEST_CASE("the driver's build is that of the mapped file") {
  const TempFolder folder;
  const OpenLibrary driver(fake_driver, folder.path() / "libcuda.so.580.95.05");
  CHECK(driver.build().version == "580.95.05");
  CHECK_FALSE(driver.build().build_id.empty());
  CHECK(driver.build().build_id == stamp_file(fake_driver).build_id);
  const OpenLibrary other(fake_driver, folder.path() / "not-libcuda.so.1");
  CHECK(other.build().version.empty());
  CHECK(other.build().build_id == driver.build().build_id);
}

// Catches a build-id that is read from a file that took the place of the mapped one.
TEST_CASE("a driver whose file is gone has no build-id, but still its version") {
  const TempFolder folder;
  const OpenLibrary driver(fake_driver, folder.path() / "libcuda.so.580.95.05");
  std::filesystem::remove(driver.file());
  CHECK(driver.build().version == "580.95.05");
  CHECK(driver.build().build_id.empty());
  std::filesystem::copy_file(path(MGEMM_FAKE_LIBRARIES) / "driver_12_2.so", driver.file());
  CHECK(driver.build().build_id.empty());
}

// Catches an exception, or a guess, for a function that lies in no file.
TEST_CASE("a driver in no file has no build") {
  const auto somewhere = std::make_unique<int>(0);
  const DriverBuild build = build_of_driver(somewhere.get());
  CHECK(build.version.empty());
  CHECK(build.build_id.empty());
}
