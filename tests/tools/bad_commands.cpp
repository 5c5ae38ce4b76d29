#include "bad_commands.hpp"

#include "process.hpp"
#include "support/test.hpp"

namespace mgemm::test {

void check_refused(std::span<const BadCommand> commands) {
  for (const auto& [arguments, reason] : commands) {
    const Finished done = run_tool(arguments);
    CAPTURE(arguments, reason, done.out, done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    CHECK(done.err.starts_with("mamba-gemm: "));
    CHECK(done.err.find(reason) != std::string::npos);
  }
}

}  // namespace mgemm::test
