// `mamba-gemm run` with NumPy files, on the reference device.
#include <sys/stat.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "npy.hpp"
#include "npy_bytes.hpp"
#include "process.hpp"
#include "support/random.hpp"
#include "support/test.hpp"
#include "temp_folder.hpp"

namespace test = mgemm::test;
namespace fs = std::filesystem;
using mgemm::cli::NpyArray;
using mgemm::cli::read_npy;
using mgemm::cli::write_npy;
using test::Finished;

namespace {

using Shape = std::array<std::int64_t, 2>;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Array2 {
  Shape shape{};
  std::vector<float> values;

  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * shape[1] + column)];
  }
};

Array2 random_array(test::Random& random, std::int64_t rows, std::int64_t columns) {
  Array2 array{{rows, columns}, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  test::fill_normal(random, array.values);
  return array;
}

void write(const std::string& path, const Array2& array) { write_npy(path, array.shape, array.values); }

/// The contract for reductions of at most 512: one chain of fused multiply-adds, then alpha, bias and beta.
template <typename A, typename B>
Array2 product(Shape shape, std::int64_t reduction, float alpha, float beta, const std::vector<float>* bias,
               const Array2* old, A&& a, B&& b) {
  Array2 result{shape, {}};
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      float value = 0;
      for (std::int64_t r = 0; r < reduction; ++r) value = std::fma(a(i, r), b(r, j), value);
      if (alpha != 1) value = alpha * value;
      if (bias != nullptr) value += (*bias)[static_cast<std::size_t>(j)];
      if (old != nullptr) value = std::fma(beta, old->at(i, j), value);
      result.values.push_back(value);
    }
  }
  return result;
}

void check_equal(const std::string& path, const Array2& expected) {
  const NpyArray got = read_npy(path, 2);
  REQUIRE(got.shape == std::vector<std::int64_t>(expected.shape.begin(), expected.shape.end()));
  std::size_t differing = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    if (std::bit_cast<std::uint32_t>(got.values[i]) != std::bit_cast<std::uint32_t>(expected.values[i])) ++differing;
  CHECK(differing == 0);
}

/// A folder with the names the tests use.
struct Files {
  test::TempFolder folder;
  std::string x = folder.file("x.npy"), w = folder.file("w.npy"), bias = folder.file("b.npy"),
              old = folder.file("old.npy"), out = folder.file("y.npy");

  Finished run(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"run", "--x", x, "--w", w, "--out", out, "--device", "reference"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_tool(arguments);
  }
};

}  // namespace

// Catches transposed or exchanged operands, a lost alpha, beta or bias, and any bit that is not the contract's: the
// expected values are computed here, in one plain loop.
TEST_CASE("run with files gives the contract's bits") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  test::Random random(seed);
  for (int round = 0; round < 6; ++round) {
    const Files files;
    const std::int64_t m = test::uniform(random, 1, 40), n = test::uniform(random, 1, 40);
    const std::int64_t reduction = test::uniform(random, 1, 512);
    const char* const op = std::array{"nn", "tn", "nt"}[static_cast<std::size_t>(round % 3)];
    const bool accumulate = round >= 3;
    const bool with_bias = round == 0 || round == 3;
    const Array2 old = random_array(random, m, n);
    std::vector<float> bias(static_cast<std::size_t>(n));
    test::fill_normal(random, bias);
    write(files.old, old);
    write_npy(files.bias, std::array{n}, bias);
    // a as (i, r) and b as (r, j), however they lie in the files.
    const bool a_transposed = round % 3 == 1, b_transposed = round % 3 == 2;
    const Array2 x = a_transposed ? random_array(random, reduction, m) : random_array(random, m, reduction);
    const Array2 w = b_transposed ? random_array(random, n, reduction) : random_array(random, reduction, n);
    write(files.x, x);
    write(files.w, w);
    std::vector<std::string> options{"--op", op, "--json"};
    if (with_bias) options.insert(options.end(), {"--bias", files.bias});
    if (accumulate) options.insert(options.end(), {"--old", files.old, "--beta", "-0.3", "--alpha", "0.7"});

    const Finished done = files.run(options);
    CAPTURE(op, m, n, reduction, done.out, done.err);
    REQUIRE(done.exit_code == 0);
    CHECK(nlohmann::json::parse(done.out)["written"] == files.out);
    check_equal(files.out,
                product(
                    {m, n}, reduction, accumulate ? 0.7F : 1.0F, -0.3F, with_bias ? &bias : nullptr,
                    accumulate ? &old : nullptr, [&](auto i, auto r) { return a_transposed ? x.at(r, i) : x.at(i, r); },
                    [&](auto r, auto j) { return b_transposed ? w.at(j, r) : w.at(r, j); }));
  }
}

// Catches empty matrices that are refused or crash: no rows, and a reduction over nothing, which gives the bias.
TEST_CASE("run with files of size zero") {
  const Files files;
  write(files.x, {{0, 5}, {}});
  write(files.w, {{5, 2}, std::vector<float>(10, 1.0F)});
  Finished done = files.run({});
  CAPTURE(done.err);
  CHECK(done.exit_code == 0);
  check_equal(files.out, {{0, 2}, {}});

  write(files.x, {{3, 0}, {}});
  write(files.w, {{0, 2}, {}});
  write_npy(files.bias, std::array<std::int64_t, 1>{2}, std::vector<float>{1, 2});
  done = files.run({"--bias", files.bias});
  CAPTURE(done.err);
  CHECK(done.exit_code == 0);
  check_equal(files.out, {{3, 2}, {1, 2, 1, 2, 1, 2}});
}

// Catches a beta that does not follow --old: without --beta it is 1.
TEST_CASE("an old output without beta is added once") {
  const Files files;
  write(files.x, {{1, 1}, {2}});
  write(files.w, {{1, 1}, {3}});
  write(files.old, {{1, 1}, {10}});
  const Finished done = files.run({"--old", files.old});
  CAPTURE(done.err);
  CHECK(done.exit_code == 0);
  check_equal(files.out, {{1, 1}, {16}});
}

// Catches an output that is written although something was wrong, a wrong exit code, and a message that does not name
// what is wrong.
TEST_CASE("files that do not fit are refused and nothing is written") {
  const Files files;
  const std::string other = files.folder.file("other.npy");
  write(files.x, {{2, 3}, std::vector<float>(6)});
  write(files.w, {{3, 4}, std::vector<float>(12)});
  write_npy(files.bias, std::array<std::int64_t, 1>{3}, std::vector<float>(3));
  write(files.old, {{4, 2}, std::vector<float>(8)});
  test::write_bytes(other, test::npy_bytes(1, test::dict_text(">f4", "False", "(3, 4)"), std::string(48, '\0')));
  const std::pair<std::vector<std::string>, std::vector<std::string>> cases[] = {
      {{"--op", "tn"}, {files.x, "(2, 3)", files.w, "(3, 4)", "tn needs equal row counts"}},
      {{"--op", "nt"}, {files.x, "(2, 3)", files.w, "(3, 4)", "nt needs equal column counts"}},
      {{"--op", "tt"}, {"--op tt"}},
      {{"--bias", files.bias}, {files.bias, "(3,)", "(4,)"}},
      {{"--bias", files.x}, {files.x, "dtype '<f4', shape (2, 3): 2 dimensions where 1 are needed"}},
      {{"--old", files.old}, {files.old, "(4, 2)", "(2, 4)"}},
      {{"--old", files.old, "--beta", "0"}, {"--old", "beta is 0"}},
      {{"--beta", "1"}, {"--beta 1", "--old"}},
      {{"--alpha", "1.5x"}, {"--alpha 1.5x", "not a number"}},
      {{"--alpha", "1e99"}, {"--alpha 1e99", "range"}},
      {{"--old", other}, {other, "dtype '>f4', shape (3, 4): big-endian"}},
      {{"--old", files.folder.file("none.npy")}, {"none.npy", "cannot be opened"}},
  };
  for (const auto& [options, reasons] : cases) {
    const Finished done = files.run(options);
    CAPTURE(options, done.out, done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    for (const std::string& reason : reasons) CHECK(contains(done.err, reason));
    CHECK_FALSE(fs::exists(files.out));
  }
  const Finished missing = test::run_tool({"run", "--x", files.x, "--w", files.w});
  CHECK(missing.exit_code == 2);
  CHECK(contains(missing.err, "--out is missing"));
}

// Catches an input that is destroyed: under its own name, through a symbolic link, and through a hard link.
TEST_CASE("an input is not overwritten") {
  const Files files;
  write(files.x, {{2, 2}, {1, 2, 3, 4}});
  write(files.w, {{2, 2}, {1, 2, 3, 4}});
  const std::string before = test::read_bytes(files.x);
  const std::string symbolic = files.folder.file("symbolic.npy"), hard = files.folder.file("hard.npy");
  fs::create_symlink(files.x, symbolic);
  fs::create_hard_link(files.x, hard);
  for (const std::string& out : {files.x, files.w, symbolic, hard, files.folder.file("./x.npy")}) {
    const Finished done =
        test::run_tool({"run", "--x", files.x, "--w", files.w, "--out", out, "--device", "reference"});
    CAPTURE(out, done.err);
    CHECK(done.exit_code == 2);
    CHECK(contains(done.err, "would be overwritten"));
    CHECK(test::read_bytes(files.x) == before);
  }
}

// Catches an older output that is not replaced, is replaced by something only its owner can read, or temporaries that
// stay behind.
TEST_CASE("an older output is replaced whole") {
  const Files files;
  write(files.x, {{1, 1}, {2}});
  write(files.w, {{1, 1}, {3}});
  test::write_bytes(files.out, "something else");
  const mode_t mask = ::umask(022);
  const Finished done = files.run({});
  ::umask(mask);
  CAPTURE(done.err);
  CHECK(done.exit_code == 0);
  check_equal(files.out, {{1, 1}, {6}});
  CHECK(fs::status(files.out).permissions() == fs::perms{0644});
  CHECK(std::distance(fs::directory_iterator(files.folder.path()), fs::directory_iterator()) == 3);
}
