#include "compile/artifact.hpp"

#include <chrono>
#include <vector>

#include "base/log.hpp"
#include "cache/flight.hpp"
#include "cache/store.hpp"
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

/// What an entry says about where it came from: every field of its identities but the text, of which there is a lot and
/// which the library can show itself.
std::vector<Identity::Field> provenance(const Identity& key, const Identity& source, const Identity& compiler) {
  std::vector<Identity::Field> fields = key.fields();
  for (const Identity* identity : {&source, &compiler}) {
    for (const Identity::Field& field : identity->fields()) {
      if (field.tag != "text") fields.push_back(field);
    }
  }
  return fields;
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
  const Identity source = source_identity(module);
  const Identity compiler = compiler_identity(table.version, target);
  Identity key("mamba-gemm artifact", 1);
  key.add("source", source.digest());
  key.add("compiler", compiler.digest());

  Artifact artifact;
  artifact.from_cache = true;
  const auto make = [&] {
    artifact.from_cache = false;
    const auto start = std::chrono::steady_clock::now();
    log(MGEMM_LOG_INFO, "compiling {} for {} with NVRTC {}", module, target, to_string(table.version));
    Entry entry;
    entry.fields = provenance(key, source, compiler);
    entry.payload = compile(table, {std::string(module), module_text(module), embedded_files(), target}).ptx;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    log(MGEMM_LOG_INFO, "compiled {} in {:.2f} s", module, seconds.count());
    return entry;
  };
  Entry entry = make_once(store_for(cache_directory), key.digest(), Kind::ptx, make);
  artifact.ptx = std::move(entry.payload);
  artifact.identity = key.add("output", entry.payload_digest).digest();
  return artifact;
}

}  // namespace mgemm
