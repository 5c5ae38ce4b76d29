#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/targets.hpp"
#include "module/resources.hpp"

namespace mgemm {

/// "all", or a list with commas of targets in any spelling: sm_90a, compute_90a, 90a. In the order of compile_targets.
/// MGEMM_INVALID_ARGUMENT names what is no target.
std::vector<const CompileTarget*> parse_targets(std::string_view text);

/// A kernel on a target, as far as that can be said without a device.
struct KernelReport {
  const KernelRow* row = nullptr;
  const CompileTarget* target = nullptr;
  bool is_compiled = false;  // what follows is known
  ResourceFacts facts;
  std::string reason;  // why it must not be used, or could not be made; "" if it may be
  bool has_failed = false;
  double seconds = 0;  // that making took; 0 if it was in the cache
};

struct InventoryOptions {
  bool compile = false;
  int threads = 0;  // that make modules at a time; 0: all
  std::string cache_directory;
};

/// Reports every kernel of the catalogue for each target, in order and from the calling thread, while others make the
/// next ones. Making a module means its machine code (compile/artifact.hpp). `visit` returns false to stop it. Whether
/// it ran to the end.
bool take_inventory(const std::vector<const CompileTarget*>& targets, const InventoryOptions& options,
                    const std::function<bool(const KernelReport&)>& visit);

}  // namespace mgemm
