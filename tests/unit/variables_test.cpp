// The table of environment variables.
#include "api/variables.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "support/environment.hpp"
#include "support/test.hpp"

using mgemm::known_variables;
using mgemm::KnownVariable;
using mgemm::test::Variable;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string objection(std::string_view name, const std::string& value) {
  const auto rows = known_variables();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const KnownVariable& known) { return name == known.name; });
  REQUIRE(row != rows.end());
  const Variable variable(row->name, value);
  return row->objection(value);
}

}  // namespace

// Catches a variable that is read and not in the table, or in it and in no document.
TEST_CASE("variables: the table is complete") {
  const auto rows = known_variables();
  const auto is_known = [&](const std::string& name) {
    return std::any_of(rows.begin(), rows.end(), [&](const KnownVariable& known) { return known.name == name; });
  };
  int found = 0;
  const std::regex literal("\"(MAMBA_GEMM_[A-Z_]+)\"");
  for (const auto& file : std::filesystem::recursive_directory_iterator(MGEMM_SOURCE_DIR "/src")) {
    if (!file.is_regular_file()) continue;
    const std::string text = text_of(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), literal); match != std::sregex_iterator(); ++match) {
      CAPTURE(file.path().string(), match->str(1));
      CHECK(is_known(match->str(1)));
      ++found;
    }
  }
  CHECK(found >= 7);
  const std::string readme = text_of(MGEMM_SOURCE_DIR "/README.md");
  for (const KnownVariable& row : rows) {
    CAPTURE(row.name);
    if (std::string_view(row.reader) == "library") CHECK(contains(readme, "| `" + std::string(row.name) + "` |"));
  }
}

// Catches a good value that is complained of, a bad one that is not, and a text that does not say what is valid.
TEST_CASE("variables: what is wrong with a value") {
  const std::pair<const char*, const char*> good[] = {
      {"MAMBA_GEMM_CACHE", "/somewhere"}, {"MAMBA_GEMM_CACHE", "off"},
      {"MAMBA_GEMM_CACHE", ""},           {"MAMBA_GEMM_CACHE_MAX", "64M"},
      {"MAMBA_GEMM_CACHE_MAX", ""},       {"MAMBA_GEMM_HELPER", "off"},
      {"MAMBA_GEMM_HELPER", ""},          {"MAMBA_GEMM_HELPER", MGEMM_HELPER_PATH},
      {"MAMBA_GEMM_LOG", "dispatch"},     {"MAMBA_GEMM_THREADS", "1024"},
      {"MAMBA_GEMM_SIMD", "generic"},     {"MAMBA_GEMM_NVRTC", ""},
      {"NVRTC_APPEND_FLAGS", ""},         {"CUDA_FORCE_PTX_JIT", "0"},
      {"CUDA_VISIBLE_DEVICES", "0,1"},
  };
  for (const auto& [name, value] : good) {
    CAPTURE(name, value);
    CHECK(objection(name, value).empty());
  }
  struct Bad {
    const char *name, *value, *text;
  };
  const Bad bad[] = {
      {"MAMBA_GEMM_CACHE", "rel/path", "which is not an absolute path, '0' or 'off'"},
      {"MAMBA_GEMM_CACHE_MAX", "lots", "a number of bytes, or one with K, M or G"},
      {"MAMBA_GEMM_HELPER", "here", "neither an absolute path nor 'off'"},
      {"MAMBA_GEMM_HELPER", "/no/such/program", "is refused"},
      {"MAMBA_GEMM_LOG", "loud", "valid are off, error, warn, info, dispatch"},
      {"MAMBA_GEMM_THREADS", "1025", "valid are 1 to 1024"},
      {"MAMBA_GEMM_SIMD", "mmx", "valid are generic, avx2, avx512"},
      {"NVRTC_APPEND_FLAGS", "-use_fast_math", "which can change its bits"},
      {"NV_NVVM_VERSION", "7", "another code generator"},
      {"CUDA_FORCE_PTX_JIT", "1", "translates PTX at every start"},
      {"CUDA_DISABLE_PTX_JIT", "1", "refuses PTX"},
  };
  for (const Bad& row : bad) {
    const std::string text = objection(row.name, row.value);
    CAPTURE(row.name, row.value, text);
    CHECK(contains(text, row.name));
    CHECK(contains(text, row.value));
    CHECK(contains(text, row.text));
  }
}
