#include "compile/artifact.hpp"

#include <chrono>

#include "base/log.hpp"
#include "cache/file_cache.hpp"
#include "catalogue/embedded.hpp"
#include "compile/compiler.hpp"
#include "compile/module_text.hpp"

namespace mgemm {
namespace {

Identity compiler_identity(const NvrtcVersion& version, const std::string& target) {
  Identity identity("mamba-gemm compiler", 1);
  identity.add("nvrtc", to_string(version)).add("output", "ptx");
  for (const std::string& option : compile_options(target)) identity.add("option", option);
  return identity;
}

}  // namespace

const Digest& embedded_digest() {
  static const Digest digest = [] {
    Identity identity("mamba-gemm embedded sources", 1);
    for (const EmbeddedFile& file : embedded_files()) identity.add(file.name, std::string(file.text));
    return identity.digest();
  }();
  return digest;
}

Identity source_identity(std::string_view module) {
  Identity identity("mamba-gemm source", 1);
  identity.add("module", std::string(module)).add("text", module_text(module)).add("embedded", embedded_digest());
  return identity;
}

Artifact artifact_of(std::string_view module, int compute_major, int compute_minor, int driver_version,
                     const std::string& cache_directory) {
  const std::string target = target_for(compute_major, compute_minor);
  const NvrtcTable& table = nvrtc(driver_version);
  Identity key("mamba-gemm artifact", 1);
  key.add("source", source_identity(module).digest());
  key.add("compiler", compiler_identity(table.version, target).digest());

  Artifact artifact;
  if (auto cached = load_cached(cache_directory, key.digest())) {
    artifact.ptx = std::move(*cached);
    artifact.from_cache = true;
  } else {
    const auto start = std::chrono::steady_clock::now();
    log(MGEMM_LOG_INFO, "compiling {} for {} with NVRTC {}", module, target, to_string(table.version));
    artifact.ptx = compile(table, {std::string(module), module_text(module), embedded_files(), target}).ptx;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    log(MGEMM_LOG_INFO, "compiled {} in {:.2f} s", module, seconds.count());
    store_cached(cache_directory, key.digest(), artifact.ptx);
  }
  artifact.identity = key.add("output", sha256(artifact.ptx)).digest();
  return artifact;
}

}  // namespace mgemm
