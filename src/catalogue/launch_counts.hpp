#pragma once
#include <cstdint>

namespace mgemm {

/// Counts one launch of the catalogue's kernel number `row`; nothing for negative numbers, which are no kernels of it.
void count_launch(std::int32_t row);

/// How often it has been launched by this process, captures included and replays of them not.
std::uint64_t launches_of(std::int32_t row);

}  // namespace mgemm
