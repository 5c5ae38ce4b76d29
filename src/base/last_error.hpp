#pragma once
#include <string_view>

#include "base/error.hpp"

namespace mgemm {

/// The calling thread's latest failure. A fixed buffer, so that recording one can neither fail nor allocate.
void set_last_error(std::string_view text, int driver_code) noexcept;
const char* last_error_text() noexcept;
int last_driver_code() noexcept;

}  // namespace mgemm
