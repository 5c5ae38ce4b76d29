#pragma once
#include <cstddef>
#include <cstdint>

namespace mgemm {

/// The catalogue has no more rows.
inline constexpr std::size_t most_counted_rows = 1024;

/// Counts one launch of the catalogue's kernel number `row`; nothing for negative numbers, which are no kernels of it.
void count_launch(std::int32_t row);

/// How often it has been launched by this process, captures included and replays of them not.
std::uint64_t launches_of(std::int32_t row);

}  // namespace mgemm
