#include "module/verdict.hpp"

#include <fmt/format.h>

#include "cache/store.hpp"
#include "device/device_identity.hpp"
#include "kernel/describe.hpp"
#include "module/probe.hpp"

namespace mgemm {
namespace {

Entry verdict_of(const LoadedModule& loaded, const DeviceFacts& facts, const std::string& contract,
                 std::span<const std::string_view> kernels) {
  Identity identity("mamba-gemm verdict", 2);
  identity.add("code", loaded.code)
      .add("device", device_identity(facts).digest())
      .add("contract", contract)
      .add("probes", fmt::format("{}", probe_revision))
      .add("schedule", fmt::format("{}", schedule_revision));
  Entry entry;
  entry.key = identity.digest();
  entry.kind = Kind::verdict;
  entry.fields = identity.fields();
  entry.fields.push_back({"device name", facts.name});
  entry.payload = fmt::format("qualified: {}\n", fmt::join(kernels, " "));
  return entry;
}

}  // namespace

bool is_verdict_kept(const LoadedModule& loaded, const DeviceFacts& facts, const std::string& contract,
                     std::span<const std::string_view> kernels, const std::string& cache_directory) {
  if (loaded.kind != Kind::machine_code) return false;
  const Entry wanted = verdict_of(loaded, facts, contract, kernels);
  const auto kept = store_for(cache_directory).load(wanted.key, wanted.kind);
  return kept && kept->payload == wanted.payload;
}

void keep_verdict(const LoadedModule& loaded, const DeviceFacts& facts, const std::string& contract,
                  std::span<const std::string_view> kernels, const std::string& cache_directory) {
  if (loaded.kind != Kind::machine_code) return;
  store_for(cache_directory).keep(verdict_of(loaded, facts, contract, kernels));
}

}  // namespace mgemm
