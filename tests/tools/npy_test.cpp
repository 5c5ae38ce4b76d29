#include "npy.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "npy_bytes.hpp"
#include "npy_header.hpp"
#include "support/random.hpp"
#include "support/test.hpp"
#include "temp_folder.hpp"

using mgemm::cli::BadInput;
using mgemm::cli::NpyArray;
using mgemm::cli::read_npy;
using mgemm::cli::write_npy;
namespace test = mgemm::test;
namespace fs = std::filesystem;

namespace {

std::string error_of(const fs::path& path, std::size_t dimensions = 2) {
  try {
    read_npy(path, dimensions);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

const std::string data_3x4(48, '\x41');
const std::string dict_3x4 = test::dict_text("<f4", "False", "(3, 4)");

}  // namespace

// Catches lost or changed bits, NaN payloads included, a wrong shape, and files left behind.
TEST_CASE("npy round trip of random bits, empty arrays included") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  const test::TempFolder folder;
  const std::string path = folder.file("y.npy");
  for (int round = 0; round < 50; ++round) {
    const std::array shape{test::uniform(random, 0, 9), test::uniform(random, 0, 70)};
    std::vector<float> values(static_cast<std::size_t>(shape[0] * shape[1]));
    for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    write_npy(path, shape, values);
    const NpyArray back = read_npy(path, 2);
    CHECK(back.shape == std::vector<std::int64_t>(shape.begin(), shape.end()));
    CHECK(bits_of(back.values) == bits_of(values));
    CHECK(fs::file_size(path) % 64 == values.size() * 4 % 64);  // the data begin at a multiple of 64
  }
  const std::array<std::int64_t, 1> row{5};
  write_npy(path, row, std::vector<float>(5, 1.5F));
  CHECK(read_npy(path, 1).shape == std::vector<std::int64_t>{5});
  CHECK(files_in(folder.path()) == 1);
}

// Catches a byte that differs from what NumPy 1.26 writes for np.zeros((2, 3), np.float32), which other readers expect.
TEST_CASE("npy bytes as NumPy writes them") {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + std::string(128 - 10 - dict.size() - 1, ' ') + '\n';
  CHECK(mgemm::cli::make_npy_preamble(std::array<std::int64_t, 2>{2, 3}) == expected);
}

// Catches a version whose header length is read with the wrong width.
TEST_CASE("npy versions 1.0, 2.0 and 3.0 are read") {
  const test::TempFolder folder;
  const std::string path = folder.file("x.npy");
  for (const int major : {1, 2, 3}) {
    CAPTURE(major);
    test::write_bytes(path, test::npy_bytes(major, dict_3x4, data_3x4));
    const NpyArray array = read_npy(path, 2);
    CHECK(array.shape == std::vector<std::int64_t>{3, 4});
    CHECK(array.values == std::vector<float>(12, std::bit_cast<float>(0x41414141U)));
  }
}

// Catches a file that would be read as other numbers than it holds, and messages that do not say which file and why.
TEST_CASE("npy files that are refused, with the reason") {
  using test::dict_text, test::npy_bytes;
  const std::string valid = npy_bytes(1, dict_3x4, data_3x4);
  const auto with_dict = [](const std::string& descr, const char* order, const char* shape, std::size_t bytes) {
    return npy_bytes(1, dict_text(descr, order, shape), std::string(bytes, '\0'));
  };
  std::string minor_one = valid;
  minor_one[7] = 1;
  std::string long_header = npy_bytes(2, dict_3x4, data_3x4);
  long_header[11] = '\x7f';
  const std::pair<std::string, const char*> cases[] = {
      {"", "not a .npy file"},
      {"PK\x03\x04 an archive", "not a .npy file"},
      {"\x93NUMPX" + valid.substr(6), "not a .npy file"},
      {npy_bytes(0, dict_3x4, data_3x4), "unknown .npy version 0.0"},
      {npy_bytes(4, dict_3x4, data_3x4), "unknown .npy version 4.0"},
      {minor_one, "unknown .npy version 1.1"},
      {long_header, "truncated header: it is said to have 2130706492 bytes"},
      {npy_bytes(2, dict_3x4 + std::string(2U << 20U, ' '), data_3x4), "absurd"},
      {npy_bytes(1, "{}", data_3x4), "'descr' is missing"},
      {with_dict(">f4", "False", "(3, 4)", 48), "dtype '>f4', shape (3, 4): big-endian"},
      {with_dict("<f8", "False", "(3, 4)", 96), "dtype '<f8', shape (3, 4): only '<f4' is read"},
      {with_dict("<f2", "False", "(3, 4)", 24), "dtype '<f2', shape (3, 4): only"},
      {with_dict("<i4", "False", "(3, 4)", 48), "dtype '<i4', shape (3, 4): only"},
      {with_dict("|O", "False", "(3, 4)", 48), "dtype '|O', shape (3, 4): only"},
      {with_dict("f4", "False", "(3, 4)", 48), "dtype 'f4', shape (3, 4): only"},
      {with_dict("<f4", "True", "(3, 4)", 48), "dtype '<f4', shape (3, 4): Fortran order"},
      {with_dict("<f4", "False", "()", 4), "shape (): 0 dimensions where 2 are needed"},
      {with_dict("<f4", "False", "(12,)", 48), "shape (12,): 1 dimensions where 2 are needed"},
      {with_dict("<f4", "False", "(3, 4, 1)", 48), "shape (3, 4, 1): 3 dimensions where 2 are needed"},
      {with_dict("<f4", "False", "(4294967296, 4294967296)", 48), "the product of the sizes overflows"},
      {with_dict("<f4", "False", "(9223372036854775807, 2)", 48), "the product of the sizes overflows"},
      {with_dict("<f4", "False", "(2305843009213693952, 1)", 48), "the product of the sizes overflows"},
      {with_dict("<f4", "False", "(1073741824, 1073741824)", 48), "truncated data: 48 bytes of 4611686018427387904"},
      {with_dict("<f4", "False", "(3, -4)", 48), "negative"},
      {valid.substr(0, valid.size() - 1), "truncated data: 47 bytes of 48"},
      {valid + '\0', "1 trailing bytes"},
      {with_dict("<f4", "False", "(0, 5)", 4), "4 trailing bytes"},
  };
  const test::TempFolder folder;
  const std::string path = folder.file("x.npy");
  for (const auto& [bytes, reason] : cases) {
    test::write_bytes(path, bytes);
    const std::string error = error_of(path);
    CAPTURE(reason, error);
    CHECK(contains(error, reason));
    CHECK(contains(error, path));
  }
  CHECK(contains(error_of(folder.file("none.npy")), "cannot be opened"));
  CHECK(contains(error_of(folder.path()), "not a regular file"));
}

// Catches a reader that waits for ever for the other end of a pipe.
TEST_CASE("npy refuses a named pipe at once") {
  const test::TempFolder folder;
  const std::string path = folder.file("pipe.npy");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(contains(error_of(path), "not a regular file"));
}

// Catches a length that is believed before it is known to fit: every truncation must be an error, none a crash.
TEST_CASE("npy truncated at every length") {
  const test::TempFolder folder;
  const std::string path = folder.file("x.npy");
  for (const int major : {1, 2, 3}) {
    const std::string valid = test::npy_bytes(major, dict_3x4, data_3x4);
    for (std::size_t length = 0; length < valid.size(); ++length) {
      test::write_bytes(path, valid.substr(0, length));
      CAPTURE(major, length);
      CHECK_FALSE(error_of(path).empty());
    }
  }
}

// Catches crashes, huge allocations and foreign exceptions on damaged files: a flip gives an error or, in the data or
// in white space, an array of the size the file has.
TEST_CASE("npy with random byte flips") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  const test::TempFolder folder;
  const std::string path = folder.file("x.npy");
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = test::npy_bytes(static_cast<int>(test::uniform(random, 1, 3)), dict_3x4, data_3x4);
    for (std::int64_t flips = test::uniform(random, 1, 3); flips > 0; --flips) {
      const auto at = static_cast<std::size_t>(test::uniform(random, 0, std::ssize(bytes) - 1));
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << test::uniform(random, 0, 7)));
    }
    test::write_bytes(path, bytes);
    try {
      const std::size_t size = read_npy(path, 2).values.size();
      REQUIRE(size == 12);
    } catch (const BadInput&) {
    }
  }
}

// Catches a failed write that damages the file that was there or leaves its temporary behind.
TEST_CASE("npy writing fails without a trace") {
  const test::TempFolder folder;
  const std::array<std::int64_t, 2> shape{1, 1};
  const std::vector<float> values{1};
  const fs::path target = folder.path() / "folder.npy";
  fs::create_directory(target);  // cannot be replaced by a file
  test::write_bytes(target / "inside", "x");
  CHECK_THROWS_AS(write_npy(target, shape, values), BadInput);
  CHECK(files_in(folder.path()) == 1);
  CHECK(files_in(target) == 1);
  CHECK_THROWS_AS(write_npy(folder.path() / "none" / "y.npy", shape, values), BadInput);
}
