// One door to the test framework: Catch2 v2 (Debian 12) or v3 (Ubuntu 24.04), with our own main in test_main.cpp.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
#define MGEMM_CATCH_MAJOR 3
#else
#include <catch2/catch.hpp>
#define MGEMM_CATCH_MAJOR 2
#endif

namespace mgemm::test {

/// Prints the reason and counts; a run that skipped and failed nothing ends with exit code 77, CTest's "skipped".
void note_skip(const char* reason);

}  // namespace mgemm::test

/// Leaves the test case. A macro because it must return from the caller; Catch2 v2 has none.
#define MGEMM_SKIP(reason)              \
  do {                                  \
    ::mgemm::test::note_skip((reason)); \
    return;                             \
  } while (false)
