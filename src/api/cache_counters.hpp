#pragma once
#include "base/json_writer.hpp"
#include "mamba_gemm/mamba_gemm.h"

namespace mgemm {

/// This process's numbers as the C interface has them.
mgemm_cache_counters counters_of_process();

/// The same as an object, with the kinds and reasons by name.
void write_counters(JsonWriter& json, const mgemm_cache_counters& counters);

}  // namespace mgemm
