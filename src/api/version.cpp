#include "api/boundary.hpp"
#include "base/lazy.hpp"
#include "compile/source_identity.hpp"

namespace {

std::string version_text() {
  return fmt::format("{}.{}.{}", MGEMM_VERSION_MAJOR, MGEMM_VERSION_MINOR, MGEMM_VERSION_PATCH);
}

/// Text that is made once and lives as long as the process.
template <typename Make>
const char* kept(mgemm::Lazy<std::string>& text, Make make) noexcept {
  try {
    return text.get(make).c_str();
  } catch (...) {
    return "";
  }
}

constinit mgemm::Lazy<std::string> version;
constinit mgemm::Lazy<std::string> source_hash;
constinit mgemm::Lazy<std::string> build_info;

}  // namespace

uint32_t mgemm_version_number(void) noexcept {
  return MGEMM_VERSION_MAJOR * 10000 + MGEMM_VERSION_MINOR * 100 + MGEMM_VERSION_PATCH;
}

const char* mgemm_version_string(void) noexcept {
  return kept(version, [] { return version_text(); });
}

const char* mgemm_source_hash(void) noexcept {
  return kept(source_hash, [] { return mgemm::to_hex(mgemm::embedded_digest()); });
}

const char* mgemm_build_info(void) noexcept {
  return kept(build_info, [] {
    const std::string_view sanitizers = MGEMM_SANITIZERS;  // NOLINT(readability-redundant-string-init)
    return fmt::format("mamba_gemm {}, {} {}, {}{}{}", version_text(),
#if defined(__clang__)
                       "clang",
#else
                       "gcc",
#endif
                       __VERSION__, MGEMM_BUILD_TYPE, sanitizers.empty() ? "" : ", sanitizers ", sanitizers);
  });
}
