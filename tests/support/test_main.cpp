#include <iostream>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/test.hpp"

namespace {
int skipped = 0;
}

namespace mgemm::test {

void note_skip(const char* reason) {
  ++skipped;
  std::cout << "SKIPPED: " << reason << '\n';
}

}  // namespace mgemm::test

int main(int argc, char** argv) {
  constexpr int exit_skipped = 77;
  const int result = Catch::Session().run(argc, argv);
  if (skipped != 0) std::cout << skipped << " skipped\n";
  return result == 0 && skipped != 0 ? exit_skipped : result;
}
