#pragma once
#include <cstdint>

namespace mgemm {

/// How many forks lie between the process that loaded the library and this one. Objects keep the value they were made
/// under; a different one means that they belong to a parent. One relaxed load.
std::uint32_t fork_generation() noexcept;

}  // namespace mgemm
