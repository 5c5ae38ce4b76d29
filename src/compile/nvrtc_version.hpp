#pragma once
#include <compare>
#include <string>

namespace mgemm {

struct NvrtcVersion {
  int major = 0;  // 0: unknown
  int minor = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it sees one in comparisons
  friend auto operator<=>(const NvrtcVersion&, const NvrtcVersion&) = default;
};

std::string to_string(const NvrtcVersion& version);

constexpr NvrtcVersion oldest_nvrtc{12, 3};

}  // namespace mgemm
