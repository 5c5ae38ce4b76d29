// What goes wrong with the cache is counted by its reason and costs nothing else.
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "cache/flight.hpp"
#include "support/cache.hpp"
#include "support/device_product.hpp"
#include "support/fake_board.hpp"
#include "support/quiet.hpp"
#include "support/recorded_calls.hpp"
#include "support/temp_folder.hpp"
#include "support/test.hpp"

namespace {

using namespace mgemm;
using namespace mgemm::test;

constexpr Kind kind = Kind::ptx;

/// What may fail while an entry is kept.
constexpr std::array<const char*, 5> steps{"creation", "fchmod", "write", "fsync", "renameat"};

bool is_step(const OsCall& call, const std::string& step) {
  return step == "creation" ? is_creation(call) : call.what == step;
}

}  // namespace

// Catches an errno that is counted under another reason.
TEST_CASE("every errno has its reason for not keeping", "[cache]") {
  struct Row {
    int error;
    StoreFailure failure;
  };
  constexpr std::array<Row, 14> rows{{{ENOSPC, StoreFailure::no_space},
                                      {EDQUOT, StoreFailure::no_space},
                                      {EROFS, StoreFailure::read_only},
                                      {EACCES, StoreFailure::denied},
                                      {EPERM, StoreFailure::denied},
                                      {ESTALE, StoreFailure::stale},
                                      {ENOENT, StoreFailure::stale},
                                      {EIO, StoreFailure::io},
                                      {EFBIG, StoreFailure::too_large},
                                      {EEXIST, StoreFailure::other},
                                      {EAGAIN, StoreFailure::other},
                                      {EISDIR, StoreFailure::other},
                                      {ENOMEM, StoreFailure::other},
                                      {EMFILE, StoreFailure::other}}};
  for (const Row& row : rows) {
    CAPTURE(row.error);
    CHECK(to_string(store_failure_of(row.error)) == to_string(row.failure));
  }
}

// Catches a failure that is not counted, or counted twice or as another, and one that reaches the caller.
TEST_CASE("a step that fails is counted once, and the entry is right", "[cache]") {
  const Quiet quiet;
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  for (const auto& [error, failure] :
       {std::pair(ESTALE, StoreFailure::stale), std::pair(EDQUOT, StoreFailure::no_space),
        std::pair(EROFS, StoreFailure::read_only)}) {
    for (const char* const step : steps) {
      CAPTURE(error, step);
      const TempFolder folder;
      Store store((folder.path() / "cache").string());
      REQUIRE(store.open() != nullptr);
      const Moved moved;
      {
        const RecordedCalls faults(
            [&, wanted = error](const OsCall& call) { return is_step(call, step) ? wanted : 0; });
        CHECK(same_entry(make_once(store, entry.key, kind, [&] { return entry; }), entry));
      }
      CHECK(moved.failures(failure) == 1);
      CHECK(moved.all_failures() == 1);
      CHECK(moved.compiles() == 1);
      CHECK(temporaries_in(store.directory()) == 0);
      CHECK_FALSE(store.load(entry.key, kind));
    }
  }
}

// Catches an entry that cannot be read and is passed over in silence, or taken for absent or damaged.
TEST_CASE("what cannot be read is counted as unreadable", "[cache]") {
  const Quiet quiet;
  Random random(fresh_seed());
  const Entry entry = recognisable(key_of(1), kind, random);
  const TempFolder folder;
  Store store((folder.path() / "cache").string());
  REQUIRE(store.keep(entry));
  const std::string name = entry_name(entry.key, kind);
  const auto is_opening = [&](const OsCall& call) { return call.what == "openat" && call.name == name; };
  const auto is_reading = [](const OsCall& call) { return call.what == "read"; };
  const auto check_unreadable = [&](RecordedCalls::Answer answer) {
    const Moved moved;
    const RecordedCalls faults(std::move(answer));
    CHECK_FALSE(store.load(entry.key, kind));
    CHECK(moved.rejects(Reject::unreadable) == 1);
    CHECK(moved.all_rejects() == 1);
    CHECK(moved.misses() == 1);
    CHECK(moved.hits() == 0);
  };
  for (const int error : {EIO, EACCES, ESTALE, EMFILE}) {
    CAPTURE(error);
    check_unreadable([&](const OsCall& call) { return is_opening(call) ? error : 0; });
    check_unreadable([&](const OsCall& call) { return is_reading(call) ? error : 0; });
  }
  CHECK(store.load(entry.key, kind));
}

// Catches a full or vanished folder whose failure reaches a product, or is counted under another reason.
TEST_CASE("products are right when nothing can be kept", "[cache]") {
  const Quiet quiet;
  const std::uint64_t seed = fresh_seed();
  CAPTURE(seed);
  Random random(seed);
  const DeviceProduct product = make_device_product(random, mamba_gemm::parse_problem("nn:f32:20x30x40:bias"), {});
  const auto expected = run_on(mamba_gemm::Context::reference(1), product);
  for (const auto& [error, failure] :
       {std::pair(ESTALE, StoreFailure::stale), std::pair(EDQUOT, StoreFailure::no_space)}) {
    CAPTURE(error);
    const FakeBoard board;
    const TempFolder folder;
    const std::string cache = (folder.path() / "cache").string();
    const Moved moved;
    const RecordedCalls faults([wanted = error](const OsCall& call) { return call.what == "write" ? wanted : 0; });
    CHECK(run_on(FakeBoard::context(cache.c_str()), product) == expected);
    CHECK(moved.failures(failure) > 0);
    CHECK(moved.failures(failure) == moved.all_failures());
    CHECK(moved.compiles() > 0);
  }
}
