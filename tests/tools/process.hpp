#pragma once
#include <string>
#include <vector>

namespace mgemm::test {

struct Finished {
  int exit_code = -1;  // 128 + signal if one ended it
  std::string out, err;
};

/// Runs the mamba-gemm binary of this build. `environment` holds NAME=value, which replaces or adds, or NAME, which
/// removes. Not through a shell.
Finished run_tool(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

}  // namespace mgemm::test
