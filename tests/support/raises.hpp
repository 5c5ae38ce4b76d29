// Calls something that must throw an mgemm::Error and gives that error.
#pragma once
#include <stdexcept>

#include "base/error.hpp"

namespace mgemm::test {

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no mgemm::Error was thrown");
}

}  // namespace mgemm::test
